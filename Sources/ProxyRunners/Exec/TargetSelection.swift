import EventLoop
import FaultProfile
import OperatingSystem
import TerminalDisplay
import Units

/// One value of `--only` or `--except`: a host, a block of addresses, a port, or a host with a port.
package struct TargetPattern: Hashable, Sendable {
    /// The host as it was given; `nil` for every host.
    let host: String?
    /// The addresses, if they are given as such.
    let range: AddressRange?
    /// The only port; `nil` for every port.
    let port: UInt16?

    /// Reads "db.example.com", "127.0.0.1:5432", "[::1]:5432", "10.0.0.0/8" or ":443".
    package init(parsing argument: String) throws(UnitError) {
        let problem = UnitError(
            problem: "\(argument.quoted) is no target",
            remedy: "write a host, host:port, :port, or a block such as 10.0.0.0/8"
        )
        if argument.contains("/") {
            guard let range = try? AddressRange(parsing: argument) else { throw problem }
            (host, self.range, port) = (argument, range, nil)
            return
        }
        var host = argument[...]
        var port: UInt16?
        let colons = argument.filter { $0 == ":" }.count
        if colons == 1 || argument.hasPrefix("["), let colon = argument.lastIndex(of: ":"),
            argument[colon...].contains("]") == false
        {
            guard let number = UInt16(argument[argument.index(after: colon)...]), number > 0 else { throw problem }
            (host, port) = (argument[..<colon], number)
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.contains(where: { $0.isWhitespace || "*[]/".contains($0) }), !(host.isEmpty && port == nil) else {
            throw problem
        }
        (self.host, self.port) = (host.isEmpty ? nil : String(host), port)
        range = try? AddressRange(parsing: String(host))
    }
}

/// The addresses whose connections go through the proxy.
package struct TargetSelection: Sendable {
    private struct Entry {
        /// `nil` for every address.
        var ranges: [AddressRange]?
        var port: UInt16?

        func contains(_ target: SocketAddress) -> Bool {
            if let port, port != target.port { return false }
            guard let ranges else { return true }
            guard let address = IPAddress(target.host) else { return false }
            return ranges.contains { $0.contains(address) }
        }
    }

    private let only: [Entry]
    private let except: [Entry]

    /// Looks up the names of the patterns, once.
    package init(only: [TargetPattern], except: [TargetPattern]) async throws(CommandFailure) {
        self.only = try await TargetSelection.entries("--only", only)
        self.except = try await TargetSelection.entries("--except", except)
    }

    private static func entries(
        _ option: String,
        _ patterns: [TargetPattern]
    ) async throws(CommandFailure) -> [Entry] {
        var entries: [Entry] = []
        for pattern in patterns {
            if pattern.range != nil || pattern.host == nil {
                entries.append(Entry(ranges: pattern.range.map { [$0] }, port: pattern.port))
                continue
            }
            let host = pattern.host ?? ""
            do throws(SystemError) {
                let addresses = try await Resolver.resolve(Endpoint(host: host, port: pattern.port ?? 1))
                let ranges = addresses.compactMap { try? AddressRange(parsing: $0.canonical.host) }
                entries.append(Entry(ranges: ranges, port: pattern.port))
            } catch {
                throw .wrongInput("\(option): can't find the address of “\(host)”: \(error)")
            }
        }
        return entries
    }

    /// Whether connections to an address are redirected.
    package func contains(_ target: SocketAddress) -> Bool {
        (only.isEmpty || only.contains { $0.contains(target) }) && !except.contains { $0.contains(target) }
    }
}
