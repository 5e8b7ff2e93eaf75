import ArgumentParser
import ChaosStage
import CommandParsing
import EventLoop
import FaultProfile
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRunners
import TerminalDisplay
import Units

/// `squall test`: a command behind bad networks, judged.
struct TestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run a command behind profiles and seeds, and judge whether it survives.",
        usage: """
            squall test --profile <profile> --upstream <host:port> [--seed 1..5] [--expect 'exit == 0'] -- <command> ...
            squall test --latency 200ms --loss 1% --upstream <host:port> -- <command> ...
            squall test --profile <profile> --exec -- <command> ...
            squall test <scenario> [--profile <profile>] [--seed 1..5]
            """,
        discussion: """
            Each run has proxies of its own on free ports. The command is told where they listen by {proxy} in its \
            arguments, host:port, and by SQUALL_PROXY_ADDRESS, _HOST, _PORT and _URL in its environment; with \
            --upstream db=127.0.0.1:5432 the proxy is called db, and these are {db} and SQUALL_DB_ADDRESS. \
            {db.host}, {db.port} and {db.url} are parts of it, {seed} is the seed, {folder} an empty folder that is removed \
            after the run; a word behind a $ stays, as a shell's ${seed}. With --exec in place of --upstream the command needs to know nothing: every connection that it \
            opens meets the profile, as by squall exec, or those that --only and --except choose.

            With --upstream tls:HOST:PORT, or https://HOST, the command speaks TLS to the proxy as well, at localhost. Its \
            environment has it trust the authority of the stage: SSL_CERT_FILE and what other programs read.

            A run passes when the command exits with 0 and every --expect holds. Figures are exit, time, bytes, \
            bytes(downstream), waste (bytes beyond those of a run without faults), connections, resumptions, faults, \
            faults(cut), and sha256("file"). A run in which no fault acted is called empty, with what came closest; a run \
            without a connection, and a profile of which all runs are empty, fail. Each run says how many phases of its \
            profile it met, and which faults never acted; with --require-phases it fails unless it met every phase. For each \
            failed run the line that repeats it is printed. After Ctrl-C the reports have the runs that finished.

            --latency, --down, --up, --loss, --cut-at and --outage are the everyday faults without a file, alone or added to \
            each --profile.

            A scenario is a JSON file with proxies, profiles, seeds, command and expectations; see docs/chaos-stage.md.

            Example: squall test --profile wifi-roam --upstream :5432 -- ./tests.sh {proxy}
            """
    )

    @Argument(help: "A scenario: a path that ends in .json.", completion: .file(extensions: ["json"]))
    var scenario: String?

    @Argument(parsing: .postTerminator, help: "The command and its arguments, behind --.")
    var command: [String] = []

    @Option(
        help: "A profile to run behind, a path or a shipped name; may be given several times.",
        completion: ProfileCompletion.kind
    )
    var profile: [String] = []

    @OptionGroup var faults: FaultOptions

    @Option(
        help: ArgumentHelp(
            "Where to forward to, [name=]host:port or unix:path; each time a proxy of its own.",
            valueName: "host:port"
        )
    )
    var upstream: [String] = []

    @Flag(
        help: "Run behind the profile on every connection of the command, which needs no {proxy}; see squall help exec."
    )
    var exec = false

    @OptionGroup var targets: TargetOptions

    @Option(
        help: ArgumentHelp(
            "The seeds to run with: 7, 1..5, or 1..3,9. (default: that of the only profile, else 1)",
            valueName: "seeds"
        )
    )
    var seed: String?

    @Option(
        help: ArgumentHelp("A condition on each run, such as 'waste < 5 % && faults >= 3'.", valueName: "condition")
    )
    var expect: [String] = []

    @Option(
        help: ArgumentHelp(
            "How long a run may take; then SIGTERM, and SIGKILL 2 s later. (default: 5 min)",
            valueName: "duration"
        ),
        transform: ArgumentReading.duration
    )
    var timeLimit: Duration?

    @Option(help: ArgumentHelp("Runs at the same time. (default: 1)", valueName: "count"))
    var jobs: Int?

    @Flag(help: "Let runs pass in which no connection came or no fault acted.")
    var allowVacuous = false

    @Flag(help: "Fail a run that doesn't meet every phase of its profile.")
    var requirePhases = false

    @Flag(help: "For the first run that fails, find the fewest faults with which it still does.")
    var shrink = false

    @Flag(help: "Print what each command writes, at once; otherwise only that of failed runs.")
    var showOutput = false

    @OptionGroup var reports: TestReportOptions

    @OptionGroup var captureLimits: CaptureLimitOptions

    @OptionGroup var limits: LimitOptions

    @OptionGroup var client: TLSOptions

    @OptionGroup var tls: ProxyTLSOptions

    @OptionGroup var interception: InterceptOptions

    func validate() throws {
        try captureLimits.check(reports.pcap, "--pcap FOLDER")
        guard ProgramStart.argumentsAreText else {
            throw ValidationError("an argument isn't UTF-8, and the command would get another one: write it in a file")
        }
        if scenario == nil {
            if faults.printProfile {
                guard profile.count <= 1 else { throw ValidationError("--print-profile takes one --profile at most") }
                return try faults.check(profile.first)
            }
            guard !command.isEmpty else { throw ValidationError("the command is missing: put it behind --") }
            guard !profile.isEmpty || !faults.faults.isEmpty else {
                throw ValidationError("a profile is missing: give --profile, or a fault such as --latency 200ms")
            }
            guard exec == upstream.isEmpty else {
                throw ValidationError(
                    exec
                        ? "--exec and --upstream don't go together: the command's connections name their targets"
                        : "--upstream is missing: where do the proxies forward to? --exec takes every connection"
                )
            }
        } else {
            for (name, isGiven) in [
                ("a command", !command.isEmpty), ("--upstream", !upstream.isEmpty), ("--exec", exec),
                ("--expect", !expect.isEmpty),
                (faults.arguments.first ?? "", !faults.faults.isEmpty), ("--print-profile", faults.printProfile),
            ] where isGiven {
                throw ValidationError(
                    "\(name) and a scenario don't go together: “\(scenario ?? "")” would have its own; a profile is given by --profile"
                )
            }
        }
        if let jobs, !(1...Scenario.jobLimit).contains(jobs) {
            throw ValidationError("--jobs is from 1 to \(Scenario.jobLimit)")
        }
        if showOutput, (jobs ?? 1) > 1 {
            throw ValidationError("--show-output and --jobs don't go together: the outputs would be mixed")
        }
    }

    func run() async throws {
        let inputs = InputFiles()
        if faults.printProfile {
            return faults.write(try faults.chosen(profile.first).read(noting: inputs), seed: nil)
        }
        let setup = StageSetup(inputs: inputs)
        var stage = try scenario.map { path throws(CommandFailure) in try setup.scenario(path) } ?? given(setup)
        if scenario != nil, !profile.isEmpty { stage.profiles = try setup.profiles(profile, of: stage) }
        if let seed { stage.seeds = try StageSetup.seeds(seed) }
        if let timeLimit { stage.timeLimit = timeLimit }
        if let jobs { stage.jobs = jobs }
        if showOutput { stage.jobs = 1 }
        if allowVacuous { stage.allowsVacuous = true }
        if requirePhases { stage.requiresPhases = true }
        guard stage.isSupervised || targets.arguments.isEmpty else {
            throw CommandFailure.wrongInput("\(targets.arguments[0]) is for --exec, or a scenario with “exec”")
        }
        try setup.check(stage)
        inputs.note(client.paths + tls.paths)
        try reports.check(reading: inputs)
        var sides = try StageSetup.sides(of: stage)
        let trust = try tls.apply(
            to: &sides,
            client: client,
            intercepting: interception.intercept,
            reading: inputs
        )
        defer { trust?.remove() }
        try await trust?.guardFolder()
        let (limits, secure) = (limits, sides.first?.tls ?? ProxyTLS())
        let repetition = StageRepetition(command: self, scenario: stage)
        let runner = Stage(
            stage,
            artifacts: reports.artifacts,
            captures: reports.captures(captureLimits),
            shrinks: shrink,
            showsOutput: showOutput,
            limit: { configuration in
                limits.apply(to: &configuration)
                configuration.tls = secure
            },
            targets: try await TargetSelection(targets),
            trust: try trust?.variables() ?? [:],
            repetition: repetition.line
        )
        try runner.check(reading: inputs)
        let report = try await runner.run()
        try reports.write(report)
        guard report.hasPassed else { throw CommandFailure.failed(report.verdict) }
    }

    /// The profiles of the options.
    private func named(_ setup: StageSetup) throws(CommandFailure) -> [StageProfile] {
        let faults = faults.faults
        if profile.isEmpty { return faults.isEmpty ? [] : [try setup.profile(nil, faults)] }
        return try profile.map { reference throws(CommandFailure) in try setup.profile(reference, faults) }
    }

    /// The stage of the options.
    private func given(_ setup: StageSetup) throws(CommandFailure) -> Scenario {
        let profiles = try named(setup)
        let proxies = exec ? [Scenario.supervising] : try setup.proxies(upstream)
        return Scenario(
            name: command[0].split(separator: "/").last.map(String.init) ?? command[0],
            proxies: proxies,
            isSupervised: exec,
            profiles: profiles,
            command: command,
            expectations: try expect.map { text throws(CommandFailure) in
                try StageSetup.expectation(text, proxies: proxies.map(\.name))
            }
        )
    }
}
