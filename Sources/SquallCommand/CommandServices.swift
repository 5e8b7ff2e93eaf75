import ControlAPI
import ControlService
import Demonstration
import HTTPTransport
import TerminalDisplay

/// What the command takes from libraries that not every program with it links.
package struct CommandServices: Sendable {
    /// TLS; `nil` for a command without it.
    package var tls: (any CommandTLS)?
    /// The HTTP server of the control API; `nil` for a command without it.
    package var controlServer: (any ControlServing)?

    /// Makes services; by default none.
    package init(tls: (any CommandTLS)? = nil, controlServer: (any ControlServing)? = nil) {
        self.tls = tls
        self.controlServer = controlServer
    }

    /// Those of the running command.
    @TaskLocal static var current = CommandServices()

    /// Runs the command with these services and exits.
    ///
    /// - Parameter arguments: The name of the program and its arguments.
    @MainActor package func run(_ arguments: [String]) async {
        DemoCommand.pageMaker.withLock { maker in
            maker = { DemoPage(profile: $0, seed: $1, loops: $2, server: CommandServices.server) }
        }
        await CommandServices.$current.withValue(self) { await Squall.run(arguments) }
    }

    /// The HTTP server of the control API.
    static func server() throws(CommandFailure) -> any ControlServing {
        guard let server = current.controlServer else {
            throw .wrongInput(
                "this build has no control server: build it with the trait Control, as `swift build` does by default"
            )
        }
        return server
    }
}

/// TLS for the command's clients and servers.
package protocol CommandTLS: Sendable {
    /// The client side.
    ///
    /// - Parameters:
    ///   - authorities: The certificates of the trusted authorities in PEM format; `nil` for those of the system.
    ///   - identity: The client certificate, if any.
    func client(authorities: [UInt8]?, identity: PEMIdentity?) throws(TLSSettingsProblem) -> any ClientTLS

    /// The server side with a certificate.
    func server(_ identity: PEMIdentity) throws(TLSSettingsProblem) -> any ServerTLS

    /// The server side with a certificate for `names` of a new authority, and the authority's certificate in PEM format.
    func authority(for names: [String]) throws -> (server: any ServerTLS, certificate: String)
}
