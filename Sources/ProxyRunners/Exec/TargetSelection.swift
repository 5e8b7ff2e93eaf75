import CommandParsing
import EventLoop
import FaultProfile
import OperatingSystem
import TerminalDisplay

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

    /// Every address.
    package init() { (only, except) = ([], []) }

    /// Looks up the names of the patterns, once.
    package init(_ options: TargetOptions) async throws(CommandFailure) {
        only = try await TargetSelection.entries("--only", options.only)
        except = try await TargetSelection.entries("--except", options.except)
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
                let hosts = try await TargetSelection.hosts(of: Endpoint(host: host, port: pattern.port ?? 1))
                let ranges = hosts.compactMap { try? AddressRange(parsing: $0) }
                entries.append(Entry(ranges: ranges, port: pattern.port))
            } catch {
                throw .wrongInput("\(option): can't find the address of “\(host)”: \(error)")
            }
        }
        return entries
    }

    /// The numeric hosts of a name. Those of localhost include both addresses of loopback, because many programs use
    /// them without a look-up.
    private static func hosts(of endpoint: Endpoint) async throws(SystemError) -> [String] {
        let loopback = endpoint.isLocalhost ? ["127.0.0.1", "::1"] : []
        do throws(SystemError) {
            return try await Resolver.resolve(endpoint).map(\.canonical.host) + loopback
        } catch {
            guard loopback.isEmpty else { return loopback }
            throw error
        }
    }

    /// Whether connections to an address are redirected.
    package func contains(_ target: SocketAddress) -> Bool {
        (only.isEmpty || only.contains { $0.contains(target) }) && !except.contains { $0.contains(target) }
    }
}
