import ArgumentParser
import ControlService
import FaultProfile
import TerminalDisplay

/// `squall ctl toxic`.
struct ToxicControl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "toxic",
        abstract: "Add, update or remove a toxic of a proxy.",
        discussion: """
            Types and their attributes: latency (latency, jitter: ms), bandwidth (rate: kB/s), slow_close (delay: ms), \
            timeout (timeout: ms), reset_peer (timeout: ms), slicer (average_size, size_variation: bytes, delay: µs), \
            limit_data (bytes).

            Example: squall ctl toxic add -t latency -a latency=100 -a jitter=50 db
            """,
        subcommands: [AddToxicControl.self, UpdateToxicControl.self, RemoveToxicControl.self],
        aliases: ["t"]
    )
}

/// The options of a toxic's values.
struct ToxicValueOptions: ParsableArguments {
    @Option(
        name: [.customLong("toxicity"), .customLong("tox")],
        help: "The share of connections that are affected, from 0 to 1."
    )
    var toxicity = 1.0

    @Option(name: .shortAndLong, help: ArgumentHelp("An attribute; may be repeated.", valueName: "key=value"))
    var attribute: [String] = []

    func validate() throws {
        guard (0...1).contains(toxicity) else {
            throw ValidationError("toxicity should be a float between 0 and 1.")
        }
        for pair in attribute where !pair.contains("=") {
            throw ValidationError("“\(pair)” is no attribute: write KEY=VALUE, such as latency=100")
        }
    }

    /// The values as members of a toxic.
    var members: [(key: String, value: JSONText)] {
        let attributes = attribute.map { pair -> (key: String, value: JSONText) in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), ToxicValueOptions.value(String(parts[1])))
        }
        return [("toxicity", ToxicValueOptions.number(toxicity)), ("attributes", .object(attributes))]
    }

    /// A value that is a number as such, any other as a text.
    private static func value(_ text: String) -> JSONText {
        guard let value = Double(text), value.isFinite else { return .text(text) }
        return number(value)
    }

    private static func number(_ value: Double) -> JSONText {
        Int64(exactly: value).map { .signed($0) } ?? .literal("\(value)")
    }
}

/// `squall ctl toxic add`.
struct AddToxicControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add a toxic to a proxy.",
        aliases: ["a"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @Option(name: .shortAndLong, help: "The type, such as latency.")
    var type: String

    @Option(
        name: [.customShort("n"), .customLong("toxicName")],
        help: ArgumentHelp(
            "The name. (default: the type and the stream, such as latency_downstream)",
            valueName: "name"
        )
    )
    var toxicName: String?

    @OptionGroup var values: ToxicValueOptions

    @Flag(name: .shortAndLong, help: "Affect data from the client.")
    var upstream = false

    @Flag(name: .shortAndLong, help: "Affect data to the client, which is the default.")
    var downstream = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        if upstream, downstream {
            throw ValidationError("Only one should be specified: upstream or downstream.")
        }
    }

    func run() async throws {
        let client = try control.client()
        let prefix = "Failed to add toxic: failed to"
        try await client.checkToxicProxy(proxy, "Failed to add toxic")
        var body: [(key: String, value: JSONText)] = [("name", .text(toxicName ?? "")), ("type", .text(type))]
        body.append(("stream", .text(upstream ? "upstream" : "downstream")))
        body += values.members
        let text = JSONText.object(body).compact
        let (response, toxic) = try await client.failing("\(prefix) add toxic to proxy \(proxy): AddToxic") {
            client throws(ControlClient.Failure) in
            let response = try await client.send("POST", ["proxies", proxy, "toxics"], body: Array(text.utf8))
            return (response, try response.json())
        }
        if control.json { return ControlOutput.show(response) }
        let (stream, type) = (toxic["stream"]?.cell ?? "", toxic["type"]?.cell ?? "")
        Console.print("Added \(stream) \(type) toxic '\(toxic["name"]?.cell ?? "")' on proxy '\(proxy)'")
    }
}

/// `squall ctl toxic update`.
struct UpdateToxicControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "update",
        abstract: "Change attributes and the toxicity of a toxic.",
        discussion: "As in toxiproxy-cli, the toxicity becomes 1 unless it is given.",
        aliases: ["u"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @Option(name: [.customShort("n"), .customLong("toxicName")], help: ArgumentHelp("The name.", valueName: "name"))
    var toxicName: String

    @OptionGroup var values: ToxicValueOptions

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        try await client.checkToxicProxy(proxy, "Failed to update toxic")
        let text = JSONText.object(values.members).compact
        let prefix = "Failed to update toxic: failed to update toxic '\(toxicName)' of proxy '\(proxy)'"
        let response = try await client.failing(prefix)
            .send("PATCH", ["proxies", proxy, "toxics", toxicName], body: Array(text.utf8))
        control.tell(response, "Updated toxic '\(toxicName)' on proxy '\(proxy)'")
    }
}

/// `squall ctl toxic remove`.
struct RemoveToxicControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a toxic from a proxy.",
        aliases: ["r", "delete", "d"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @Option(name: [.customShort("n"), .customLong("toxicName")], help: ArgumentHelp("The name.", valueName: "name"))
    var toxicName: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        try await client.checkToxicProxy(proxy, "Failed to remove toxic")
        let prefix = "Failed to remove toxic: failed to remove toxic '\(toxicName)' from proxy '\(proxy)'"
        let response = try await client.failing(prefix).send("DELETE", ["proxies", proxy, "toxics", toxicName])
        control.tell(response, "Removed toxic '\(toxicName)' on proxy '\(proxy)'")
    }
}

extension ControlClient {
    /// Fails in Toxiproxy's words if there is no such proxy.
    fileprivate func checkToxicProxy(_ name: String, _ prefix: String) async throws(CommandFailure) {
        _ = try await failing("\(prefix): failed to retrieve proxy with name `\(name)`").send("GET", ["proxies", name])
    }
}
