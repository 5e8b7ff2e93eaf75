import ArgumentParser
import CommandParsing
import ControlService
import FaultProfile
import TerminalDisplay
import Units

/// `squall ctl connections`.
struct ConnectionsControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connections",
        abstract: "List the open connections of a proxy, or of all."
    )

    @Argument(help: "The proxy; without it all.")
    var proxy: String?

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let query = proxy.map { [(name: "proxy", value: $0)] } ?? []
        let client = try control.client().failing("Failed to retrieve connections")
        let (response, node) = try await client.fetch(["v1", "connections"], query: query)
        if control.json { return ControlOutput.show(response) }
        let listed = node["connections"]?.elements ?? []
        ControlOutput.show(ConnectionsControl.table(listed), orElse: "no connections")
        let total = node["total"]?.count ?? 0
        if total > listed.count { Console.error("\(total - listed.count) more connections aren't listed") }
    }

    /// The connections; ages in milliseconds.
    static func table(_ connections: [JSONNode]) -> ControlTable {
        let keys = ["proxy", "number", "client", "state", "age", "upstreamBytes", "downstreamBytes"]
        return ControlTable(
            headings: ["proxy", "number", "client", "state", "age (ms)", "bytes up", "bytes down", "faults"],
            rows: connections.map { connection in
                let faults = (connection["faults"]?.elements ?? []).map(\.cell).joined(separator: ",")
                return keys.map { connection[$0]?.cell ?? "-" } + [faults.isEmpty ? "-" : faults]
            }
        )
    }
}

/// `squall ctl end`.
struct EndControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "End one connection."
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @Argument(help: "The number of the connection, as listed by squall ctl connections.")
    var number: Int

    @Flag(help: "Reset it instead of closing it.")
    var reset = false

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let path = ["v1", "proxies", proxy, "connections", "\(number)"]
        let response = try await control.client().failing("Failed to end connection \(number) of proxy \(proxy)")
            .send("DELETE", path, query: [("how", reset ? "reset" : "close")])
        control.tell(response, "\(reset ? "Reset" : "Closed") connection \(number) of proxy \(proxy)")
    }
}

/// `squall ctl wait`.
struct WaitControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until a condition of a proxy holds; exit code 1 if it doesn't in time.",
        discussion: "Example: squall ctl wait db 'connections >= 3' --timeout 10s"
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @Argument(help: "The condition, such as 'connections >= 3'.")
    var condition: String

    @Option(
        help: ArgumentHelp("The longest time to wait, such as 10s. (default: 10s)", valueName: "duration"),
        transform: ArgumentReading.duration
    )
    var timeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Count from this value of the counter, or from “now”, instead of 0; --json prints the value of a wait.",
            valueName: "value"
        )
    )
    var baseline: String?

    @OptionGroup var control: ControlOptions

    func validate() throws {
        guard let baseline, baseline != "now", UInt64(baseline) == nil else { return }
        throw ValidationError("--baseline is a whole number, or “now”")
    }

    func run() async throws {
        let timeout = timeout ?? .seconds(10)
        var members: [(key: String, value: JSONText)] = [
            ("proxy", .text(proxy)), ("until", .text(condition)), ("timeout", .text(timeout.text)),
        ]
        if let baseline { members.append(("baseline", UInt64(baseline).map(JSONText.number) ?? .text(baseline))) }
        let body = JSONText.object(members)
        let client = try control.client()
        let response: ControlClient.Response
        do throws(ControlClient.Failure) {
            let limit = timeout + ControlClient.timeout
            response = try await client.send("POST", ["v1", "wait"], body: Array(body.compact.utf8), within: limit)
        } catch {
            guard error.status == 408 else { throw CommandFailure.control("Failed to wait: \(error.text)") }
            throw CommandFailure.control("\(condition.visibleLine) didn't hold within \(timeout.text)")
        }
        guard let result = try? response.json(), result["held"]?.isTrue == true else {
            throw CommandFailure.control("Failed to wait: the response doesn't say that \(condition.visibleLine) holds")
        }
        if control.json { return ControlOutput.show(response) }
        Console.print("\(condition) holds\(result["value"].map { " (\($0.cell))" } ?? "")")
    }
}
