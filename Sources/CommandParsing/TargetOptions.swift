import ArgumentParser
import EventLoop
import FaultProfile
import OperatingSystem
import Units

/// One value of `--only` or `--except`: a host, a block of addresses, a port, or a host with a port.
package struct TargetPattern: Hashable, Sendable {
    /// The argument.
    let text: String
    /// The host as it was given; `nil` for every host.
    package let host: String?
    /// The addresses, if they are given as such.
    package let range: AddressRange?
    /// The only port; `nil` for every port.
    package let port: UInt16?

    /// Reads "db.example.com", "127.0.0.1:5432", "[::1]:5432", "10.0.0.0/8" or ":443".
    package init(parsing argument: String) throws(UnitError) {
        func problem(_ remedy: String) -> UnitError {
            UnitError(problem: "\(argument.quoted) is no target", remedy: remedy)
        }
        let forms = "write a host, host:port, :port, or a block such as 10.0.0.0/8"
        text = argument
        if argument.contains(",") { throw problem("give the option again for each target") }
        if argument.contains("/") {
            guard let range = try? AddressRange(parsing: argument) else { throw problem(forms) }
            (host, self.range, port) = (argument, range, nil)
            return
        }
        var host = argument[...]
        var port: UInt16?
        let colons = argument.filter { $0 == ":" }.count
        if colons == 1 || argument.hasPrefix("["), let colon = argument.lastIndex(of: ":"),
            argument[colon...].contains("]") == false
        {
            guard let number = UInt16(argument[argument.index(after: colon)...]), number > 0 else {
                throw problem(forms)
            }
            (host, port) = (argument[..<colon], number)
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.contains(where: { $0.isWhitespace || "*[]/".contains($0) }), !(host.isEmpty && port == nil) else {
            throw problem(forms)
        }
        // Else a number is an address to the resolver, 8002 that of 0.0.31.66.
        if !host.isEmpty, host.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
            throw problem(port == nil ? ":\(host) is the port" : forms)
        }
        (self.host, self.port) = (host.isEmpty ? nil : String(host), port)
        range = try? AddressRange(parsing: String(host))
    }
}

/// The targets of a command whose connections are redirected.
package struct TargetOptions: ParsableArguments {
    private static func target(_ argument: String) throws -> TargetPattern {
        try ArgumentReading.value(argument) { text throws(UnitError) in try TargetPattern(parsing: text) }
    }

    @Option(
        help: ArgumentHelp("Redirect connections to this target only. Can be given again.", valueName: "target"),
        transform: TargetOptions.target
    )
    package var only: [TargetPattern] = []

    @Option(
        help: ArgumentHelp("Leave connections to this target alone. Can be given again.", valueName: "target"),
        transform: TargetOptions.target
    )
    package var except: [TargetPattern] = []

    package init() {}

    /// The options that were given, as they were.
    package var arguments: [String] {
        [("--only", only), ("--except", except)].flatMap { option, patterns in
            patterns.flatMap { [option, $0.text] }
        }
    }

    /// Whether none was given.
    package var isEmpty: Bool { only.isEmpty && except.isEmpty }

    package func validate() throws {
        for (option, patterns) in [("--only", only), ("--except", except)]
        where patterns.count > ProfileLimits.triggerValues {
            throw ValidationError("\(option) is given at most \(ProfileLimits.triggerValues) times")
        }
    }
}
