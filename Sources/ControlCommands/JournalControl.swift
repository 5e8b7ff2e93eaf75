import ArgumentParser
import ControlService
import FaultProfile
import TerminalDisplay
import Units

/// `squall ctl journal`.
struct JournalControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Print the faults that have acted, and with --follow those that follow, until Ctrl-C.",
        discussion: "With --json each line is one event."
    )

    @Flag(name: .shortAndLong, help: "Go on with new events.")
    var follow = false

    @Option(help: ArgumentHelp("Only events of this proxy.", valueName: "name"))
    var proxy: String?

    @Option(help: ArgumentHelp("Only events of the fault of this name.", valueName: "name"))
    var fault: String?

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        // As many as a server keeps.
        var query = [(name: "limit", value: "10000")]
        if let proxy { query.append(("proxy", proxy)) }
        if let fault { query.append(("fault", fault)) }
        let next = try await client.failing("Failed to retrieve the journal") {
            client throws(ControlClient.Failure) in
            let response = try await client.send("GET", ["v1", "journal"], query: query)
            let page = try response.json()
            tellLost(page)
            show(page["events"]?.elements ?? [])
            return page["next"]?.count ?? 0
        }
        guard follow else { return }
        try await client.failing("Failed to follow the journal") { client throws(ControlClient.Failure) in
            var stream = ServerSentEvents()
            try await client.stream(
                ["v1", "events"],
                query: [("samples", "10000")],
                fields: [("Last-Event-ID", "\(next)")]
            ) { bytes throws(ControlClient.Failure) in
                for event in try stream.append(bytes) where ["fault", "lost"].contains(event.name) {
                    let response = ControlClient.Response(body: Array(event.data.utf8))
                    let node = try response.json()
                    if event.name == "lost" { tellLost(node) } else if matches(node) { show([node], isFollowing: true) }
                }
            }
            throw ControlClient.Failure(text: "the server has ended")
        }
    }

    private func tellLost(_ node: JSONNode) {
        guard let lost = node["lost"]?.cell, lost != "0" else { return }
        Console.error("\(lost) earlier events are no longer kept")
    }

    private func matches(_ event: JSONNode) -> Bool {
        (proxy == nil || event["proxy"]?.cell == proxy) && (fault == nil || event["fault"]?.cell == fault)
    }

    private func show(_ events: [JSONNode], isFollowing: Bool = false) {
        if control.json { return ControlOutput.write(events.map { $0.compactText + "\n" }.joined()) }
        let table = JournalControl.table(events)
        // Events that come one by one can't be aligned with those that follow.
        if isFollowing, ControlOutput.isTerminal {
            return ControlOutput.write(table.rows.map { $0.joined(separator: "  ").visibleLine + "\n" }.joined())
        }
        ControlOutput.show(table, orElse: "no events")
    }

    /// Events of the journal.
    static func table(_ events: [JSONNode]) -> ControlTable {
        let keys = ["time", "proxy", "connection", "direction", "fault", "what", "offset"]
        return ControlTable(headings: keys, rows: events.map { event in keys.map { event[$0]?.cell ?? "-" } })
    }
}
