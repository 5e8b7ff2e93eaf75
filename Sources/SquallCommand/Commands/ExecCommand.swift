import ArgumentParser
import CommandParsing
import FaultProfile
import OperatingSystem
import ProfileFiles
import ProxyRunners
import TerminalDisplay
import Units

/// `squall exec`: a program behind a bad network, unchanged.
struct ExecCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "exec",
        abstract: "Run a program, unchanged, with a profile on every connection that it opens.",
        usage: """
            squall exec <profile> -- <command> ...
            squall exec --latency 200ms --loss 1% -- <command> ...
            squall exec <profile> --only db.example.com:5432 -- <command> ...
            squall exec --page -- <command> ...
            """,
        discussion: """
            The command and everything that it starts connect as always, by names, addresses and ports of their own: static \
            and 32-bit programs too, encrypted or not, to any host, this machine included. Each TCP connection goes through \
            Squall, without privileges, settings or a change to the machine. UDP (DNS, HTTP/3) passes untouched.

            The command has the terminal, standard input and the outputs; Squall writes to standard error only. The exit code \
            is the command's, and a signal that ends it ends Squall. When it ends, Squall stays as long as a process that it \
            has started lives; when Squall is killed, so are they. SIGTERM and SIGHUP are passed on, once.

            --only and --except say which targets meet the profile, by host, host:port, :port, or a block of addresses; names \
            are looked up once, at the start; localhost is 127.0.0.1 and ::1.

            With --page the network changes while the command runs: a button takes it away.

            With --intercept HOST Squall speaks TLS with that host and with the command, whose environment has it trust an \
            authority of this run; faults then reach requests and responses. Other hosts' TLS passes untouched.

            Exit codes: 2 the profile or an option is wrong; 1 Squall's own failure, with a line; 125 this system doesn't let \
            Squall do it; 126 the command can't be run; 127 there is no such command; else the command's.

            Example: squall exec wifi-roam -- npm test
            Example: squall exec --latency 200ms --only :5432 -- psql -h db.example.com
            Example: squall exec --page -- npm start
            Example: squall exec flaky-api --intercept api.example.com -- pytest
            """
    )

    /// How a connection ends that can't be redirected.
    enum Unproxied: String, ExpressibleByArgument, CaseIterable {
        case refuse, allow
    }

    @Argument(
        help: "The profile: a path, the name of a shipped one, or - for standard input.",
        completion: ProfileCompletion.kind
    )
    var profile: String?

    @Argument(parsing: .postTerminator, help: "The command and its arguments, behind --.")
    var command: [String] = []

    @OptionGroup var faults: FaultOptions

    @OptionGroup var targets: TargetOptions

    @Option(
        help: ArgumentHelp(
            "What becomes of a connection that can't be redirected: refuse (EACCES) or allow.",
            valueName: "way"
        )
    )
    var unproxied = Unproxied.refuse

    @Option(help: "The seed of every draw; without it the profile's, or a new one.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("Write a line for each fault that acts.", valueName: "file"), completion: .file())
    var journal: String?

    @OptionGroup var captures: CaptureOptions

    @OptionGroup var captureLimits: CaptureLimitOptions

    @OptionGroup var client: TLSOptions

    @OptionGroup var tls: ProxyTLSOptions

    @OptionGroup var interception: InterceptOptions

    @Flag(help: "Show open connections, rates and faults in a line of the terminal, for a command that prints little.")
    var status = false

    @Flag(
        help: """
            Show the command's network on a page of http://localhost:8474/, where it can be changed, as by the API of \
            squall serve and by squall ctl. The command's own connections to the page meet no fault.
            """
    )
    var page = false

    @Option(help: "The port of the page; 0 takes a free one. (default: 8474)")
    var port: Int?

    @Option(help: "Event loops, a thread each; 0 is one for each processor.")
    var threads = 0

    @Option(
        help: ArgumentHelp("The process without which this one ends.", valueName: "number", visibility: .hidden)
    )
    var parent: Int32?

    func validate() throws {
        try captureLimits.check(captures.pcap)
        guard page || port == nil else { throw ValidationError("--port is the port of the page: give --page as well") }
        if page, status { throw ValidationError("--status goes without --page, which shows the same") }
        guard (0...65_535).contains(port ?? 0) else { throw ValidationError("--port is from 0 to 65535") }
        guard (0...256).contains(threads) else { throw ValidationError("--threads is from 0 to 256") }
        // On a page faults can come later.
        if !page { try faults.check(profile) }
        guard faults.printProfile || !command.isEmpty else {
            throw ValidationError("the command is missing: put it behind --")
        }
        if journal == "-" {
            throw ValidationError("--journal: standard output is the command's: name a file")
        }
        if captures.pcap == "-" {
            throw ValidationError("--pcap: standard output is the command's: name a file")
        }
    }

    func run() async throws {
        let inputs = InputFiles()
        let hasFaults = profile != nil || !faults.faults.isEmpty
        let read = hasFaults ? try faults.chosen(profile).read(noting: inputs) : Profile(name: "none")
        if faults.printProfile { return faults.write(read, seed: seed) }
        var runner = ExecRunner(
            read,
            seed: seed,
            targets: try await TargetSelection(targets),
            allowsUnproxied: unproxied == .allow,
            journal: journal,
            threads: threads,
            inputs: inputs
        )
        inputs.note(client.paths + tls.paths)
        try captures.check(reading: inputs, beside: journal, keyLog: tls.keyLog)
        runner.capture = try captures.opened(captureLimits, noting: inputs)
        runner.choosesTargets = !targets.isEmpty
        runner.showsStatus = status
        runner.parent = parent
        if page { runner.page = try CommandPage(port: port ?? 8474) }
        let capture = runner.capture?.capture
        try tls.apply(
            to: &runner,
            client: client,
            intercepting: interception.intercept,
            capturing: capture,
            reading: inputs
        )
        try await ExecCommand.finish(runner, command)
    }

    /// Runs a command, and ends like it.
    static func finish(_ runner: ExecRunner, _ command: [String]) async throws {
        let end = try await runner.run(command)
        if let failure = Console.finish() { throw CommandFailure.failed("can't write: \(failure)") }
        ProcessLimits.end(like: end)
    }
}
