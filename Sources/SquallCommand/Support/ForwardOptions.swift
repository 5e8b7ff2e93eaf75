import ArgumentParser
import CommandParsing
import EventLoop
import FaultProfile
import FoundationEssentials
import ProxyEngine
import StreamReading
import TerminalDisplay
import Units

/// The options of the forward proxy of `run` and `serve`.
struct ForwardOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Listen here as an HTTP and SOCKS5 proxy whose clients name the host, in place of --listen and --upstream \
            where the command has them. Without a host it listens on 127.0.0.1.
            """,
            valueName: "[host:]port"
        ),
        transform: ForwardOptions.endpoint
    )
    var forwardProxy: Endpoint?

    @Option(
        help: ArgumentHelp(
            "The address or block of addresses whose clients may use --forward-proxy. Can be given again.",
            valueName: "cidr"
        ),
        transform: ForwardOptions.range
    )
    var allowClient: [AddressRange] = []

    @Option(
        help: ArgumentHelp(
            """
            The file whose first line is the password that --forward-proxy asks for; without it SQUALL_PROXY_PASSWORD, if \
            it is set.
            """,
            valueName: "file"
        ),
        completion: .file()
    )
    var proxyPasswordFile: String?

    @Flag(help: "Let clients of --forward-proxy reach this machine's own and link-local addresses from other machines.")
    var allowLocalTargets = false

    func validate() throws {
        guard forwardProxy == nil else { return }
        let given = [
            (!allowClient.isEmpty, "--allow-client"), (proxyPasswordFile != nil, "--proxy-password-file"),
            (allowLocalTargets, "--allow-local-targets"),
        ].first { $0.0 }
        if let given { throw ValidationError("\(given.1) is for --forward-proxy") }
    }

    /// Throws a usage error if `listen` or `upstream` is given as well.
    func check(listen: Endpoint?, upstream: Endpoint?) throws {
        guard forwardProxy != nil, listen != nil || upstream != nil else { return }
        throw ValidationError("--forward-proxy takes the place of --listen and --upstream: give one or the others")
    }

    /// The policy, with the password read.
    func policy() throws(CommandFailure) -> ForwardPolicy {
        ForwardPolicy(clients: allowClient, password: try password(), allowsLocalTargets: allowLocalTargets)
    }

    private func password() throws(CommandFailure) -> ProxyPassword? {
        let text: String
        let source: String
        if let proxyPasswordFile {
            let option = "--proxy-password-file"
            let bytes = try CredentialOptions.secret(proxyPasswordFile, limit: ProxyPassword.sizeLimit + 2, option)
            let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
            text = String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
            source = "the first line of “\(proxyPasswordFile)” (\(option))"
        } else if let set = ProcessInfo.processInfo.environment["SQUALL_PROXY_PASSWORD"] {
            (text, source) = (set, "SQUALL_PROXY_PASSWORD")
        } else {
            return nil
        }
        guard let password = ProxyPassword(text) else {
            throw .wrongInput("\(source) is no password: it needs 1 to \(ProxyPassword.sizeLimit) bytes")
        }
        return password
    }

    private static func endpoint(_ argument: String) throws -> Endpoint {
        let isPort = !argument.isEmpty && argument.utf8.allSatisfy { (48...57).contains($0) }
        let rest = isPort ? ":\(argument)" : argument
        return try ArgumentReading.endpoint(rest.hasPrefix(":") ? "127.0.0.1\(rest)" : rest)
    }

    private static func range(_ argument: String) throws -> AddressRange {
        do throws(UnitError) {
            return try AddressRange(parsing: argument)
        } catch {
            throw ValidationError("\(error.problem): \(error.remedy)")
        }
    }
}
