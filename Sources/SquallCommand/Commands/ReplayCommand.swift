import ArgumentParser
import CommandParsing
import EventLoop
import FaultPlan
import FaultProfile
import Journal
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRunners
import TerminalDisplay
import Units

/// `squall replay`: re-injects the faults of a journal.
struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run a proxy that re-injects the faults of a journal at the same offsets, until Ctrl-C.",
        usage: """
            squall replay <journal> [--listen <host:port>] [--upstream <host:port>] [options]
            squall replay <journal> -- <command> ...
            """,
        discussion: """
            Takes what squall run --journal wrote, or squall replay --journal. Every cut and stall of the journal \
            at an offset is re-injected on the connection of the same number, at the same offset, and no other one is; so \
            is every other fault at a position: truncate, insert, half-open with at, corrupt with at or between. Faults that go by \
            time come from the journal's profile, with its seed.

            A journal of clients with TLS is replayed with it, as is the side of its upstream; see squall help run.

            A journal of --forward-proxy is replayed with that again; the clients name the hosts. With --upstream all of \
            it is for one server.

            A journal of squall exec is replayed by the same command behind --, as squall exec runs it. Its faults are \
            re-injected on the connections of the same number to the same target, in whatever order the targets are reached. \
            Give --intercept again, as it was. With --upstream it is replayed for clients of that one server.

            Example: squall replay journal.jsonl --listen :8081 --upstream :8080
            Example: squall replay journal.jsonl --forward-proxy :8888
            Example: squall replay journal.jsonl -- npm test
            """
    )

    @Argument(help: ArgumentHelp("The journal.", valueName: "journal"), completion: .file())
    var recording: String

    @Argument(parsing: .postTerminator, help: "The command of a journal of squall exec, and its arguments, behind --.")
    var command: [String] = []

    @Option(
        help: ArgumentHelp("Where to listen; port 0 takes a free one. (default: 127.0.0.1:0)", valueName: "host:port"),
        transform: ArgumentReading.endpoint
    )
    var listen: Endpoint?

    @Option(
        help: ArgumentHelp("Where to forward to; without it where the journal's proxy did.", valueName: "host:port"),
        transform: ArgumentReading.endpoint
    )
    var upstream: Endpoint?

    @Option(help: "The proxy of the journal, if there are several.")
    var name: String?

    @Option(
        help: "The profile, to make sure that it is still the journal's: a path, or the name of a shipped one.",
        completion: ProfileCompletion.kind
    )
    var profile: String?

    @Option(
        help: ArgumentHelp("Write a line for each fault that acts; - is standard output.", valueName: "file"),
        completion: .file()
    )
    var journal: String?

    @OptionGroup var forward: ForwardOptions

    @OptionGroup var targets: TargetOptions

    @OptionGroup var client: TLSOptions

    @OptionGroup var tls: ProxyTLSOptions

    @OptionGroup var interception: InterceptOptions

    @OptionGroup var limits: LimitOptions

    @OptionGroup var start: StartOptions

    @OptionGroup var background: DetachOptions

    @Option(help: "Event loops, a thread each; 0 is one for each processor.")
    var threads = 0

    func validate() throws {
        guard (0...256).contains(threads) else { throw ValidationError("--threads is from 0 to 256") }
        try forward.check(listen: listen, upstream: upstream)
        try background.check(journal: journal)
        if upstream?.hasFreePort == true { throw ValidationError("--upstream needs a port above 0") }
        guard !command.isEmpty else {
            if !targets.isEmpty { throw ValidationError("--only and --except are for a command behind --") }
            return
        }
        if listen != nil || upstream != nil || forward.forwardProxy != nil || background.detach {
            throw ValidationError(
                "a command behind -- connects to its targets itself: leave out --listen, --upstream, --forward-proxy and "
                    + "--detach, or the command"
            )
        }
        if journal == "-" { throw ValidationError("--journal: standard output is the command's: name a file") }
    }

    func run() async throws {
        if background.detach {
            // The background process has other outputs than the one that people start.
            let outputs = InputFiles()
            try outputs.check(writing: "the journal", to: journal)
            try outputs.check(writing: "the key log", to: tls.keyLog)
        }
        if try background.hasStarted("replay") { return }
        let inputs = InputFiles(recording)
        let given = try profile.map { name throws(CommandFailure) in
            try ProfileLibrary.profile(name, noting: inputs)
        }
        let file = try JournalFile.read(recording, profile: given, noting: inputs)
        let proxy = try file.proxy(name)
        if !command.isEmpty { return try await runCommand(file, proxy, inputs) }
        let destination = try destination(of: proxy)
        let plan = destination.upstream.map { file.plan(for: proxy, forwardingTo: $0) } ?? file.plan(for: proxy)
        var configuration = ProxyConfiguration(
            name: proxy.name,
            listen: forward.forwardProxy ?? listen
                ?? Endpoint(host: "127.0.0.1", port: 0, usesTLS: proxy.clientsUseTLS),
            destination: destination,
            profile: plan.everything,
            seed: proxy.seed
        )
        configure(&configuration, as: proxy)
        // The lines name faults of the replayed journal, so its profile explains them.
        let recorded = file.header.profile
        var configurations = [configuration]
        inputs.note(forward.proxyPasswordFile.map { [$0] } ?? [])
        let trust = try tls.apply(
            to: &configurations,
            client: client,
            intercepting: interception.intercept,
            reading: inputs
        )
        defer { trust?.remove() }
        var runner = ProxyRunner(configurations, of: recorded, journal: journal, threads: threads, inputs: inputs)
        runner.trust = trust
        try await runner.run()
    }

    /// Sets the limits, and the start of the clock: that of the options, or the journal's.
    private func configure(_ configuration: inout ProxyConfiguration, as proxy: JournalHeader.ProxyEntry) {
        limits.apply(to: &configuration)
        configuration.clockStart = start.moment ?? proxy.clockStart(at: MonotonicClock.now)
    }

    /// Runs the command with the journal's faults on its connections.
    private func runCommand(_ file: RecordedJournal, _ proxy: JournalHeader.ProxyEntry, _ inputs: InputFiles)
        async throws
    {
        var runner = ExecRunner(
            file.plan(for: proxy).everything,
            name: proxy.name,
            seed: proxy.seed,
            targets: try await TargetSelection(targets),
            allowsUnproxied: false,
            journal: journal,
            threads: threads,
            inputs: inputs
        )
        runner.choosesTargets = !targets.isEmpty
        runner.recorded = file.header.profile
        runner.configure = { configure(&$0, as: proxy) }
        try tls.apply(to: &runner, client: client, intercepting: interception.intercept, reading: inputs)
        try await ExecCommand.finish(runner, command)
    }

    /// Where the replay of a proxy forwards to: as the options say, or else where the proxy did.
    private func destination(of proxy: JournalHeader.ProxyEntry) throws(CommandFailure)
        -> ProxyConfiguration.Destination
    {
        if forward.forwardProxy != nil { return .requested(try forward.policy()) }
        let remedy =
            "give --forward-proxy PORT, and they do so again, --upstream HOST:PORT for one server, or the command of "
            + "squall exec behind --"
        return .upstream(try proxy.upstream(upstream, otherwise: remedy))
    }
}
