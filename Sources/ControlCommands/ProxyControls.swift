import ArgumentParser
import CommandParsing
import ControlService
import FaultProfile
import FoundationEssentials
import TerminalDisplay
import Units

/// `squall ctl list`.
struct ListControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List all proxies.",
        aliases: ["l", "li", "ls"]
    )

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (response, node) = try await control.client().failing("Failed to retrieve proxies").fetch(["proxies"])
        if control.json { return ControlOutput.show(response) }
        ControlOutput.show(ListControl.table(node.members.map(\.node)), orElse: "no proxies")
    }

    /// The proxies of Toxiproxy's API, by name.
    static func table(_ proxies: [JSONNode]) -> ControlTable {
        let rows = proxies.map { proxy in
            [
                proxy["name"]?.cell ?? "", proxy["listen"]?.cell ?? "", proxy["upstream"]?.cell ?? "",
                enabledText(proxy["enabled"]?.isTrue == true), "\(proxy["toxics"]?.elements.count ?? 0)",
            ]
        }
        return ControlTable(
            headings: ["name", "listen", "upstream", "state", "toxics"],
            rows: rows.sorted { Array($0[0].utf8).lexicographicallyPrecedes(Array($1[0].utf8)) }
        )
    }

    static func enabledText(_ isEnabled: Bool) -> String { isEnabled ? "enabled" : "disabled" }
}

/// `squall ctl inspect`.
struct InspectControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "List the toxics of a proxy.",
        aliases: ["i", "ins"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let (response, node) = try await control.client().proxy(proxy)
        if control.json { return ControlOutput.show(response) }
        let toxics = node["toxics"]?.elements ?? []
        guard ControlOutput.isTerminal else {
            return ControlOutput.write(toxics.map(InspectControl.line).joined())
        }
        let state = ListControl.enabledText(node["enabled"]?.isTrue == true)
        Console.print("\(proxy): \(node["listen"]?.cell ?? "") to \(node["upstream"]?.cell ?? ""), \(state)")
        ControlOutput.show(InspectControl.table(toxics), orElse: "no toxics")
    }

    /// The toxics as a table.
    static func table(_ toxics: [JSONNode]) -> ControlTable {
        ControlTable(
            headings: ["toxic", "type", "stream", "toxicity", "attributes"],
            rows: toxics.map { toxic in
                [
                    toxic["name"]?.cell ?? "", toxic["type"]?.cell ?? "", toxic["stream"]?.cell ?? "",
                    toxic["toxicity"]?.cell ?? "",
                    attributes(of: toxic).map { "\($0.key)=\($0.node.cell)" }.joined(separator: " "),
                ]
            }
        )
    }

    /// A toxic as toxiproxy-cli writes it to a pipe.
    static func line(_ toxic: JSONNode) -> String {
        var cells = [toxic["name"]?.cell ?? ""]
        cells += ["type", "stream"].map { "\($0)=\(toxic[$0]?.cell ?? "")" }
        cells.append("toxicity=" + Formatting.hundredths(toxic["toxicity"]?.number ?? 0))
        cells.append("attributes=[")
        cells += attributes(of: toxic).map { "\($0.key)=\(ControlOutput.goText($0.node.number))" }
        return (cells.map(\.visibleLine) + ["]"]).joined(separator: "\t") + "\n"
    }

    private static func attributes(of toxic: JSONNode) -> [JSONMember] {
        (toxic["attributes"]?.members ?? []).sorted { $0.key < $1.key }
    }
}

/// `squall ctl create`.
struct CreateControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a proxy.",
        aliases: ["c", "new"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @Option(name: .shortAndLong, help: "The address to listen on: :PORT is on 127.0.0.1, and port 0 takes a free one.")
    var listen: String

    @Option(name: .shortAndLong, help: "The address to forward to: :PORT is on 127.0.0.1.")
    var upstream: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let body = JSONText.object([
            ("name", .text(proxy)), ("listen", .text(SecureAddress.completing(listen))),
            ("upstream", .text(SecureAddress.completing(upstream))), ("enabled", .flag(true)),
        ])
        let response = try await control.client().failing("Failed to create proxy: create")
            .send("POST", ["proxies"], body: Array(body.compact.utf8))
        control.tell(response, "Created new proxy \(proxy)")
    }
}

/// `squall ctl toggle`.
struct ToggleControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "toggle",
        abstract: "Disable a proxy, or enable it again.",
        aliases: ["tog"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        let isEnabled = try await client.proxy(proxy).node["enabled"]?.isTrue != true
        try await client.setEnabled(isEnabled, proxy, "toggle", control)
    }
}

/// `squall ctl down`.
struct DownControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "down",
        abstract: "Disable a proxy, or refuse its clients for a time; open connections end.",
        discussion: "Example: squall ctl down db --for 10s",
        aliases: ["disable"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Go on after this time, by a fault “down”.", valueName: "duration"),
        transform: ArgumentReading.duration
    )
    var time: Duration?

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        guard let time else { return try await client.setEnabled(false, proxy, "disable", control) }
        let fault = Array(#"{"kind":"outage","how":"refuse"}"#.utf8)
        let response = try await client.failing("Failed to disable proxy \(proxy)")
            .send("PUT", FaultControl.path(proxy, "down"), query: [("for", time.text)], body: fault)
        control.tell(response, "Proxy \(proxy) is down for \(time.text)")
    }
}

/// `squall ctl up`.
struct UpControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "up",
        abstract: "Enable a proxy that is down.",
        aliases: ["enable"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        // 404: nobody has taken it down for a time, or the server is Toxiproxy.
        if let failure = await client.deletionFailure(FaultControl.path(proxy, "down")), failure.status != 404 {
            throw CommandFailure.control("Failed to enable proxy \(proxy): \(failure.text)")
        }
        try await client.setEnabled(true, proxy, "enable", control)
    }
}

extension ControlClient {
    /// Deletes what is at a path; returns why that failed, if it did.
    fileprivate func deletionFailure(_ path: [String]) async -> Failure? {
        do throws(Failure) {
            _ = try await send("DELETE", path)
            return nil
        } catch {
            return error
        }
    }

    /// Enables or disables a proxy, and prints that it is; `verb` is the word for it in a failure.
    fileprivate func setEnabled(
        _ isEnabled: Bool,
        _ proxy: String,
        _ verb: String,
        _ control: ControlOptions
    ) async throws(CommandFailure) {
        let body = JSONText.object([("enabled", .flag(isEnabled))])
        let response = try await failing("Failed to \(verb) proxy \(proxy)")
            .send("POST", ["proxies", proxy], body: Array(body.compact.utf8))
        control.tell(response, "Proxy \(proxy) is now \(ListControl.enabledText(isEnabled))")
    }
}

/// `squall ctl delete`.
struct DeleteControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a proxy.",
        aliases: ["d"]
    )

    @Argument(help: "The name of the proxy.")
    var proxy: String

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        _ = try await client.proxy(proxy)
        let response = try await client.failing("Failed to delete proxy: Delete").send("DELETE", ["proxies", proxy])
        control.tell(response, "Deleted proxy \(proxy)")
    }
}
