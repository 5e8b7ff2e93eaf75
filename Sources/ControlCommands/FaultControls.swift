import ArgumentParser
import CommandParsing
import ControlService
import FaultProfile
import FoundationEssentials
import ProfileFiles
import TerminalDisplay
import Units

/// `squall ctl apply`.
struct ApplyControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Give a proxy, or all of them, another profile; open connections stay.",
        discussion: """
            A file is checked here and sent with everything that it extends; a name is looked up by the server.
            """
    )

    @Argument(
        help: "A path, which has a slash or ends in .json, or the name of a profile that the server knows.",
        completion: ProfileCompletion.kind
    )
    var profile: String

    @Argument(help: "The proxy; without it all.")
    var proxy: String?

    @OptionGroup var control: ControlOptions

    func run() async throws {
        let client = try control.client()
        let body: JSONText
        switch ProfileReference(profile, in: "") {
        case .path: body = ProfileWriter.json(of: try ProfileLibrary.profile(profile))
        case .shipped, .trace, .certificate: body = .text(profile)
        }
        let path = proxy.map { ["v1", "proxies", $0, "profile"] } ?? ["v1", "profile"]
        let response = try await client.failing("Failed to apply \(profile)")
            .send("PUT", path, body: Array(body.compact.utf8))
        if control.json { return ControlOutput.show(response) }
        ControlOutput.tellUnreached(response)
        Console.print("Applied profile \(profile) to \(proxy.map { "proxy \($0)" } ?? "all proxies")")
    }
}

/// `squall ctl fault`.
struct FaultControl: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault",
        abstract: "Set or remove a fault besides those of the profile.",
        discussion: "Example: squall ctl fault set db slow kind=latency delay='200 ms' --for 30s",
        subcommands: [SetFaultControl.self, RemoveFaultControl.self]
    )
}

/// `squall ctl fault set`.
struct SetFaultControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set a fault of a proxy; one of the same name is replaced.",
        discussion: """
            The fault is a JSON object as in a profile, or its members as KEY=VALUE, in which a value that isn't JSON is \
            a text.
            """,
        aliases: ["add"]
    )

    @Argument(help: "The proxy (not with --all), the name of the fault, and the fault.")
    var words: [String]

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Remove the fault after this time.", valueName: "duration"),
        transform: ArgumentReading.duration
    )
    var lifetime: Duration?

    @Flag(help: "Set it on all proxies.")
    var all = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        // A name may have these characters too; then the fault comes behind it.
        if let word = words.dropFirst(all ? 0 : 1).first, word.contains("=") || word.hasPrefix("{"),
            !words.dropFirst(all ? 1 : 2).contains(where: { $0.hasPrefix("kind=") || $0.hasPrefix("{") })
        {
            throw ValidationError("the name of the fault is missing: write NAME before “\(word)”")
        }
        guard words.count >= (all ? 2 : 3) else {
            throw ValidationError("write \(all ? "" : "the proxy, ")the name of the fault, and the fault")
        }
        _ = try SetFaultControl.fault(words.dropFirst(all ? 1 : 2))
    }

    func run() async throws {
        let client = try control.client()
        let (proxy, name) = (all ? nil : words[0], words[all ? 0 : 1])
        let fault = try SetFaultControl.fault(words.dropFirst(all ? 1 : 2))
        let response = try await client.failing("Failed to set fault \(name)").send(
            "PUT",
            FaultControl.path(proxy, name),
            query: lifetime.map { [("for", $0.text)] } ?? [],
            body: Array(fault.utf8)
        )
        if control.json { return ControlOutput.show(response) }
        ControlOutput.tellUnreached(response)
        let time = lifetime.map { " for \($0.text)" } ?? ""
        Console.print("Set fault \(name) on \(proxy.map { "proxy \($0)" } ?? "all proxies")\(time)")
    }

    /// The JSON of a fault: the only word if it is an object, else an object of words such as `kind=latency`.
    static func fault(_ words: ArraySlice<String>) throws -> String {
        if let word = words.first, words.count == 1, word.hasPrefix("{") {
            guard JSONSyntax.isValid(word.utf8) else { throw ValidationError("“\(word)” is no JSON object") }
            return word
        }
        var members: [(key: String, value: JSONText)] = []
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw ValidationError("“\(word)” is no member of a fault: write KEY=VALUE, such as kind=latency")
            }
            members.append((parts[0], JSONSyntax.isValid(parts[1].utf8) ? .literal(parts[1]) : .text(parts[1])))
        }
        return JSONText.object(members).compact
    }
}

/// `squall ctl fault remove`.
struct RemoveFaultControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove a fault that was set.",
        aliases: ["delete"]
    )

    @Argument(help: "The proxy (not with --all), and the name of the fault.")
    var words: [String]

    @Flag(help: "Remove it from all proxies.")
    var all = false

    @OptionGroup var control: ControlOptions

    func validate() throws {
        guard words.count == (all ? 1 : 2) else {
            throw ValidationError("write \(all ? "only" : "the proxy, and") the name of the fault")
        }
    }

    func run() async throws {
        let client = try control.client()
        let (proxy, name) = (all ? nil : words[0], words[all ? 0 : 1])
        let response = try await client.failing("Failed to remove fault \(name)")
            .send("DELETE", FaultControl.path(proxy, name))
        control.tell(response, "Removed fault \(name) from \(proxy.map { "proxy \($0)" } ?? "all proxies")")
    }
}

extension FaultControl {
    /// The path of a fault of a proxy, or of all.
    static func path(_ proxy: String?, _ name: String) -> [String] {
        proxy.map { ["v1", "proxies", $0, "faults", name] } ?? ["v1", "faults", name]
    }
}
