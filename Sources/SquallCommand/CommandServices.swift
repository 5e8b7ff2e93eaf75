import ControlAPI
import ControlCommands
import ControlService
import Demonstration
import HTTPTransport
import ProfileFiles
import ProxyEngine
import SquallTransfer
import TerminalDisplay

/// What the command takes from libraries that not every program with it links.
package struct CommandServices: Sendable {
    /// TLS; `nil` for a command without it.
    package var tls: (any CommandTLS)?
    /// Makes the HTTP server of the control API, with TLS or without; `nil` for a command without it.
    package var controlServer: (@Sendable ((any ServerTLS)?) -> any ControlServing)?

    /// Makes empty services.
    package init() {}

    /// Those of the running command.
    @TaskLocal static var current = CommandServices()

    /// Runs the command with these services and exits.
    ///
    /// - Parameter arguments: The name of the program and its arguments.
    @MainActor package func run(_ arguments: [String]) async {
        DemoCommand.parts.withLock { $0 = CommandDemoParts() }
        CtlCommand.tls.withLock { maker in
            maker = { caFile throws(CommandFailure) in
                let authorities: [UInt8]? = if let caFile { try PEMFiles.text(of: caFile, "--ca-file") } else { nil }
                return try CommandFailure.attempting("“\(caFile ?? "")” (--ca-file)", code: .wrongInput) {
                    try TransferTLS(authorities: authorities).client
                }
            }
        }
        await CommandServices.$current.withValue(self) { await Squall.run(arguments) }
    }

    /// The HTTP server of the control API.
    ///
    /// - Parameter tls: The server side of TLS; `nil` for a server without it.
    static func server(tls: (any ServerTLS)? = nil) throws(CommandFailure) -> any ControlServing {
        guard let make = current.controlServer else {
            throw .wrongInput(
                "this build has no control server: build it with the trait Control, as `swift build` does by default"
            )
        }
        return make(tls)
    }
}

/// TLS for the command's servers.
package protocol CommandTLS: Sendable {
    /// The server side with a certificate.
    func server(_ identity: PEMIdentity, offersHTTP2: Bool) throws(TLSSettingsProblem) -> any ServerTLS

    /// Whether the validity of a certificate has ended at a time, in seconds since 1970.
    func hasExpired(_ identity: PEMIdentity, at time: Int) throws(TLSSettingsProblem) -> Bool

    /// The server side with a certificate for `names` of a new authority, and the authority's certificate in PEM format.
    func authority(for names: [String]) throws -> (server: any ServerTLS, certificate: String)

    /// The text of an authority for `names`, with its key, and its certificate for clients, in PEM format.
    func lastingAuthority(for names: [String], days: Int) throws -> (text: String, certificate: String)

    /// Checks the text of an authority.
    func check(authority text: String) throws(TLSSettingsProblem)

    /// The TLS of proxies, and the certificate of their authority in PEM format if they have one.
    ///
    /// - Parameters:
    ///   - settings: the certificates and names.
    ///   - listens: whether clients have TLS.
    ///   - connects: whether an upstream has it.
    func proxy(
        _ settings: ProxyTLSSettings,
        listens: Bool,
        connects: Bool
    ) throws(TLSSettingsProblem) -> (tls: ProxyTLS, certificate: String?)
}

/// The certificates and names for the TLS of proxies.
package struct ProxyTLSSettings: Sendable {
    /// The authorities that sign for upstreams, in PEM format; `nil` for those of the system.
    package var authorities: [UInt8]?
    /// The certificate for upstreams that ask for one.
    package var clientIdentity: PEMIdentity?
    /// The certificate for clients; without it an authority makes one for each name.
    package var identity: PEMIdentity?
    /// The text of a lasting authority; without it one is made.
    package var authority: String?
    /// The names that an authority signs for that is made.
    package var names: [String] = []
    /// The names that any authority has to sign for.
    package var intercepted: [String] = []
    /// Takes lines with the secrets of sessions.
    package var keyLog: (@Sendable ([UInt8]) -> Void)?

    /// Makes empty settings.
    package init() {}
}
