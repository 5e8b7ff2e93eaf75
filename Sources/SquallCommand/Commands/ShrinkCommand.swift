import ArgumentParser
import CommandParsing
import EventLoop
import FaultProfile
import Journal
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRunners
import TerminalDisplay
import Units

/// `squall shrink`: finds the smallest list of faults with which a command still fails.
struct ShrinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shrink",
        abstract: "Find the smallest list of a journal's faults with which a command still fails.",
        usage: """
            squall shrink <journal> [--upstream <host:port>] [--name <name>] [--link-memory <size>] \
            [--connection-limit <count>] [--runs <count>] [--patience <duration>] [--output <path>] [--ca-file <file>] \
            [--client-cert <file>] [--client-key <file>] [--upstream-name <name>] [--tls-cert <file>] [--tls-key <file>] \
            [--authority <file>] [--key-log <file>] -- <command> ...
            """,
        discussion: """
            Runs the command again and again, each time through a new proxy that re-injects some of the journal's faults, \
            and leaves out what isn't needed (delta debugging). The command is told where the proxy listens by the \
            environment variable SQUALL_PROXY, and by {proxy} in its arguments: host:port. An exit code other than 0, \
            or no end within --patience, is a failure. It gets empty standard input, what it writes is dropped, and what it \
            leaves running in its process group is killed when it has ended. Ctrl-C ends the search and tells the \
            smallest list so far.

            If the clients of the journal's proxy spoke TLS, so does the command, to localhost, and its environment has it \
            trust the authority of the search.

            A journal of squall exec is shrunk with --upstream, the server to which the command connects through {proxy}.

            Example: squall shrink journal.jsonl -- ./client-test --server {proxy}
            """
    )

    @Argument(help: ArgumentHelp("The journal.", valueName: "journal"), completion: .file())
    var recording: String

    @Argument(parsing: .postTerminator, help: "The command and its arguments, behind --.")
    var command: [String] = []

    @Option(
        help: ArgumentHelp("Where to forward to; without it where the journal's proxy did.", valueName: "host:port"),
        transform: ArgumentReading.endpoint
    )
    var upstream: Endpoint?

    @Option(help: "The proxy of the journal, if there are several.")
    var name: String?

    @OptionGroup var limits: LimitOptions

    @OptionGroup var client: TLSOptions

    @OptionGroup var tls: ProxyTLSOptions

    @Option(
        help: ArgumentHelp("Runs of the command at most, with the last one for the journal.", valueName: "count")
    )
    var runs = 500

    @Option(
        help: ArgumentHelp(
            "How long a run may take; then SIGTERM, and SIGKILL 2 s later. (default: 60 s)",
            valueName: "duration"
        ),
        transform: ArgumentReading.duration
    )
    var patience = Duration.seconds(60)

    @Option(help: ArgumentHelp("Write the result into this file with .json and .jsonl behind it.", valueName: "path"))
    var output = "shrunk"

    func validate() throws {
        guard ProgramStart.argumentsAreText else {
            throw ValidationError("an argument isn't UTF-8, and the command would get another one: write it in a file")
        }
        guard !command.isEmpty else { throw ValidationError("the command is missing: put it behind --") }
        guard (2...100_000).contains(runs) else { throw ValidationError("--runs is from 2 to 100000") }
        if upstream?.hasFreePort == true { throw ValidationError("--upstream needs a port above 0") }
    }

    func run() async throws {
        let inputs = InputFiles(recording)
        let file = try JournalFile.read(recording, profile: nil, noting: inputs)
        let proxy = try file.proxy(name)
        let remedy =
            "give --upstream HOST:PORT, the server, and have the command connect to {proxy} in its place, also if "
            + "squall exec ran it unchanged"
        let upstream = try proxy.upstream(upstream, otherwise: remedy)
        let plan = file.plan(for: proxy, forwardingTo: upstream)
        guard !plan.units.isEmpty else { throw CommandFailure.wrongInput("the journal tells of no fault") }
        inputs.note(client.paths + tls.paths)
        let files = ResultFiles(output)
        try files.check(reading: inputs)
        var sides = [
            ProxyConfiguration(
                name: proxy.name,
                listen: Endpoint(host: "127.0.0.1", port: 0, usesTLS: proxy.clientsUseTLS),
                upstream: upstream,
                profile: Profile(name: proxy.name),
                seed: proxy.seed
            )
        ]
        let trust = try tls.apply(to: &sides, client: client, reading: inputs)
        defer { trust?.remove() }
        let (limits, secure) = (limits, sides[0].tls)
        let trial = CommandRun(
            command: command,
            patience: patience,
            upstream: upstream,
            proxy: proxy,
            files: files,
            trust: try trust?.variables() ?? [:]
        ) { configuration in
            limits.apply(to: &configuration)
            configuration.tls = secure
        }
        try await Shrinking(plan: plan, trial: trial, runs: runs, isInOrder: file.hasTimes).run()
    }
}
