import ArgumentParser
import EventLoop
import FaultProfile
import Glibc
import Journal
import OperatingSystem
import ProxyEngine
import Supervisor
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
            """,
        discussion: """
            The command and everything that it starts connect as always, by names, addresses and ports of their own: static \
            and 32-bit programs too, encrypted or not, to any host, this machine included. Each TCP connection goes through \
            Squall, without privileges, settings or a change to the machine. UDP (DNS, HTTP/3) passes untouched.

            The command has the terminal, standard input and the outputs; Squall writes to standard error only. The exit code \
            is the command's, and a signal that ends it ends Squall. When it ends, Squall stays as long as a process that it \
            has started lives; when Squall is killed, so are they. SIGTERM and SIGHUP are passed on, once.

            --only and --except say which targets meet the profile, by host, host:port, :port, or a block of addresses; names \
            are looked up once, at the start.

            Exit codes: 125 this system doesn't let Squall do it; 126 the command can't be run; 127 there is no such command; \
            else the command's.

            Example: squall exec wifi-roam -- npm test
            Example: squall exec --latency 200ms --only :5432 -- psql -h db.example.com
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

    @Option(
        help: ArgumentHelp("Redirect connections to this target only. Can be given again.", valueName: "target"),
        transform: TargetPattern.init(argument:)
    )
    var only: [TargetPattern] = []

    @Option(
        help: ArgumentHelp("Leave connections to this target alone. Can be given again.", valueName: "target"),
        transform: TargetPattern.init(argument:)
    )
    var except: [TargetPattern] = []

    @Option(
        help: ArgumentHelp(
            "What becomes of a connection that can't be redirected: refuse (EACCES) or allow. (default: refuse)",
            valueName: "way"
        )
    )
    var unproxied = Unproxied.refuse

    @Option(help: "The seed of every draw; without it the profile's, or a new one.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("Write a line for each fault that acts.", valueName: "file"))
    var journal: String?

    @Option(help: "Event loops, a thread each; 0 is one for each processor.")
    var threads = 0

    func validate() throws {
        guard (0...256).contains(threads) else { throw ValidationError("--threads is from 0 to 256") }
        try faults.check(profile)
        guard faults.printProfile || !command.isEmpty else {
            throw ValidationError("the command is missing: put it behind --")
        }
        if journal == StandardInput.reference {
            throw ValidationError("--journal: standard output is the command's: name a file")
        }
        for (option, patterns) in [("--only", only), ("--except", except)]
        where patterns.count > ProfileLimits.triggerValues {
            throw ValidationError("\(option) is given at most \(ProfileLimits.triggerValues) times")
        }
    }

    func run() async throws {
        let inputs = InputFiles()
        let read = try faults.chosen(profile).read(noting: inputs)
        if faults.printProfile { return faults.write(read, seed: seed) }
        let targets = try await TargetSelection(only: only, except: except)
        let supervised: SupervisedCommand
        do throws(SystemError) {
            supervised = try SupervisedCommand()
        } catch {
            throw CommandFailure(code: .cannotSupervise, message: "can't open sockets on loopback: \(error)")
        }
        var configuration = ProxyConfiguration(
            name: "exec",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            destination: .requested(ForwardPolicy(allowsLocalTargets: true)),
            profile: read.narrowed(to: "exec"),
            seed: seed ?? read.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        )
        // As long as the kernel's own, with the usual net.ipv4.tcp_syn_retries.
        configuration.connectTimeout = .seconds(127)
        configuration.handover = { supervised.handOver(to: $0) }
        let end = try await run(supervised, configuration, targets, read, inputs)
        if let failure = Console.finish() { throw CommandFailure.failed("can't write: \(failure)") }
        ProcessLimits.end(like: end)
    }

    private func run(
        _ supervised: SupervisedCommand,
        _ configuration: ProxyConfiguration,
        _ targets: TargetSelection,
        _ read: Profile,
        _ inputs: InputFiles
    ) async throws -> ChildProcess.End {
        ProcessLimits.raiseOpenFiles()
        ProcessLimits.ignoreKeyboardSignals()
        let runner = ProxyRunner(
            configurations: [configuration],
            journal: journal,
            threads: threads,
            inputs: inputs,
            recorded: read
        )
        let output = try runner.openJournal()
        let loops: EventLoopGroup
        let signals: LoopBound<[SignalSource]>
        do throws(SystemError) {
            loops = try EventLoopGroup(count: threads)
            signals = try await ExecCommand.passSignals(to: supervised, on: loops.loops[0])
        } catch {
            throw CommandFailure.failed("can't start the event loops: \(error)")
        }
        let journal = output.map {
            JournalWriter($0, header: JournalHeader(of: [configuration], recorded: read, at: MonotonicClock.now))
        }
        let warnings = Warnings()
        let proxy: Proxy
        do throws(ProxyError) {
            proxy = try await Proxy.start(
                configuration,
                on: loops,
                journal: { journal?.record($0) },
                report: { event in if !ExecCommand.isCommandsOwn(event) { warnings.report(event) } }
            )
        } catch {
            throw CommandFailure(error)
        }
        output?.release()
        let result: Result<ChildProcess.End?, SupervisedCommand.Problem>
        do throws(SupervisedCommand.Problem) {
            result = .success(
                try await supervised.run(
                    guardedBy: ["guard", "--"] + command,
                    through: proxy.address,
                    allowsUnproxied: unproxied == .allow,
                    isWanted: { targets.contains($0) },
                    note: { Console.warn(ExecCommand.line(about: $0, isAllowed: unproxied == .allow)) },
                    ended: {}
                )
            )
        } catch {
            result = .failure(error)
        }
        await proxy.stop()
        _ = try? await loops.loops[0].run { for source in signals.value { source.cancel() } }
        await loops.stop()
        warnings.finish()
        try runner.finish(journal, output)
        switch result {
        case .success(let end?): return end
        case .success(nil): throw CommandFailure.failed("the guard of “\(command[0])” was killed")
        case .failure(let problem): throw CommandFailure(problem, command[0])
        }
    }

    /// Passes SIGTERM and SIGHUP on to the command; the second of them ends this process, and the guard all others.
    private static func passSignals(
        to supervised: SupervisedCommand,
        on loop: EventLoop
    ) async throws(SystemError) -> LoopBound<[SignalSource]> {
        try await loop.run {
            var wasPassed = false
            let sources = [SIGTERM, SIGHUP].map { number in
                SignalSource(number, on: loop) {
                    if wasPassed { Glibc.exit(128 + number) }
                    wasPassed = true
                    supervised.send(number)
                }
            }
            return LoopBound(sources, on: loop)
        }
    }

    /// Whether an event is one that the command sees itself.
    private static func isCommandsOwn(_ event: ProxyEvent) -> Bool {
        if case .targetUnreachable = event { true } else { false }
    }

    private static func line(about notice: SupervisorNotice, isAllowed: Bool) -> String {
        switch notice {
        case .http3:
            "the command uses UDP to port 443 (HTTP/3), which passes untouched"
        case .unproxied(let code):
            "a connection couldn't be redirected (\(SystemError(call: "pidfd_getfd", code: code))) and was "
                + (isAllowed ? "made without faults" : "refused: --unproxied allow makes it without faults")
        case .full:
            "more than \(SupervisedCommand.connectLimit) connections are being opened: some fail with EAGAIN"
        }
    }
}

extension CommandFailure {
    /// A command that can't be run behind a supervisor.
    init(_ problem: SupervisedCommand.Problem, _ command: String) {
        switch problem {
        case .unsupported(let error):
            self.init(
                code: .cannotSupervise,
                message:
                    "this system doesn't let Squall supervise programs: \(error): it needs Linux 5.6 or newer with "
                    + "seccomp; use squall run and point the program at it"
            )
        case .forbidden(let error):
            self.init(
                code: .cannotSupervise,
                message: "Squall may not have the sockets of other programs: \(error): in a container add "
                    + "--cap-add SYS_PTRACE; elsewhere set kernel.yama.ptrace_scope to 0 or 1"
            )
        case .alreadySupervised:
            self.init(
                code: .cannotSupervise,
                message:
                    "this process is under another supervisor of system calls, such as squall exec, and the kernel "
                    + "allows one: run one of them only"
            )
        case .notStarted(let error):
            let isMissing = error.code == ENOENT
            self.init(
                code: isMissing ? .noSuchCommand : .cannotRunCommand,
                message: "can't run “\(command)”: \(error)"
            )
        }
    }
}
