import ArgumentParser
import ControlService
import FaultProfile
import HTTPTransport
import Synchronization
import TerminalDisplay

/// `squall ctl`: changes a running control server.
package struct CtlCommand: ParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "ctl",
        abstract: "Show and change the proxies of a running squall serve, with the commands of toxiproxy-cli.",
        discussion: """
            Every command takes the URL of the server as -h or --host, before or after its name, or from TOXIPROXY_URL; \
            the default is http://localhost:8474. Tables are for terminals: in a pipe each row is a line with tabs.

            Example: squall ctl create -l 127.0.0.1:5433 -u 127.0.0.1:5432 db
            """,
        subcommands: [
            ListControl.self, InspectControl.self, CreateControl.self, ToggleControl.self, DownControl.self,
            UpControl.self, DeleteControl.self, ToxicControl.self, ApplyControl.self, FaultControl.self,
            ConnectionsControl.self, EndControl.self,
            JournalControl.self, WaitControl.self, ProfilesControl.self, SnapshotControl.self, RestoreControl.self,
            ResetControl.self, PopulateControl.self,
        ],
        // `-h` is the host, as in toxiproxy-cli.
        helpNames: .long
    )

    /// Makes the client side of TLS, which trusts the authorities of a file, or those of the system without one; it is `nil`
    /// in a build without TLS. Set once, before the command runs.
    package static let tls = Mutex<(@Sendable (String?) throws(CommandFailure) -> (any ClientTLS)?)?>(nil)

    package init() {}
}

extension ControlClient {
    /// Runs `body`; a failure ends the command with `prefix` before its text.
    func failing<Result>(
        _ prefix: String,
        _ body: (ControlClient) async throws(Failure) -> Result
    ) async throws(CommandFailure) -> Result {
        do throws(Failure) {
            return try await body(self)
        } catch {
            throw .control("\(prefix): \(error.text)")
        }
    }

    /// A client whose failures end the command with `prefix` before their text.
    func failing(_ prefix: String) -> CommandClient { CommandClient(client: self, prefix: prefix) }

    /// The proxy of a name, as Toxiproxy's API shows it.
    func proxy(_ name: String) async throws(CommandFailure) -> (response: Response, node: JSONNode) {
        try await failing("Failed to retrieve proxy \(name)").fetch(["proxies", name])
    }
}

/// A client whose failures end the command.
struct CommandClient {
    fileprivate let client: ControlClient
    fileprivate let prefix: String

    /// Sends a request, see `ControlClient.send`.
    func send(
        _ method: String,
        _ path: [String],
        query: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) async throws(CommandFailure) -> ControlClient.Response {
        try await client.failing(prefix) { client throws(ControlClient.Failure) in
            try await client.send(method, path, query: query, body: body)
        }
    }

    /// Sends a GET request; returns the response and its JSON.
    func fetch(
        _ path: [String],
        query: [(name: String, value: String)] = []
    ) async throws(CommandFailure) -> (response: ControlClient.Response, node: JSONNode) {
        try await client.failing(prefix) { client throws(ControlClient.Failure) in
            let response = try await client.send("GET", path, query: query)
            return (response, try response.json())
        }
    }
}
