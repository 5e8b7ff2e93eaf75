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
        discussion: """
            Takes what squall run --journal wrote, or squall replay --journal. Every cut and stall of the journal \
            is re-injected on the connection of the same number, at the same offset, and no other one is; so is every \
            other fault at a position: truncate, insert, half-open with at, corrupt with at or between. Faults that go by \
            time come from the journal's profile, with its seed.

            A journal of --forward-proxy is replayed with that again; the clients name the hosts. With --upstream all of \
            it is for one server.

            Example: squall replay journal.jsonl --listen 127.0.0.1:8081 --upstream 127.0.0.1:8080
            Example: squall replay journal.jsonl --forward-proxy :8888
            """
    )

    @Argument(help: "The journal.", completion: .file())
    var recording: String

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

    @Option(help: ArgumentHelp("Write a line for each fault that acts; - is standard output.", valueName: "file"))
    var journal: String?

    @OptionGroup var forward: ForwardOptions

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
    }

    func run() async throws {
        if try background.hasStarted("replay") { return }
        let inputs = InputFiles(recording)
        let given = try profile.map { name throws(CommandFailure) in
            try ProfileLibrary.profile(name, noting: inputs)
        }
        let file = try JournalFile.read(recording, profile: given, noting: inputs)
        let proxy = try file.proxy(name)
        var configuration = ProxyConfiguration(
            name: proxy.name,
            listen: forward.forwardProxy ?? listen ?? Endpoint(host: "127.0.0.1", port: 0),
            destination: try destination(of: proxy),
            profile: file.plan(for: proxy).everything,
            seed: proxy.seed
        )
        limits.apply(to: &configuration)
        configuration.clockStart = start.moment ?? proxy.clockStart(at: MonotonicClock.now)
        // The lines name faults of the replayed journal, so its profile explains them.
        let recorded = file.header.profile
        try await ProxyRunner([configuration], of: recorded, journal: journal, threads: threads, inputs: inputs).run()
    }

    /// Where the replay of a proxy forwards to: as the options say, or else where the proxy did.
    private func destination(of proxy: JournalHeader.ProxyEntry) throws(CommandFailure)
        -> ProxyConfiguration.Destination
    {
        if forward.forwardProxy != nil { return .requested(try forward.policy()) }
        guard let upstream = upstream ?? Endpoint(proxy.upstream) else {
            throw .wrongInput(
                "the clients of the journal's proxy named the hosts: give --forward-proxy PORT, and they do so again, or "
                    + "--upstream HOST:PORT for one server"
            )
        }
        return .upstream(upstream)
    }
}
