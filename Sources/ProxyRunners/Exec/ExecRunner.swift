import EventLoop
import FaultProfile
import Glibc
import Journal
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import Supervisor
import TerminalDisplay
import Units

/// Runs a command behind a profile on every connection that it opens.
package struct ExecRunner {
    private let profile: Profile
    private let seed: UInt64
    private let targets: TargetSelection
    private let allowsUnproxied: Bool
    private let journal: String?
    private let threads: Int
    private let inputs: InputFiles

    /// A runner with `threads` event loops; 0 for one per processor.
    package init(
        _ profile: Profile,
        seed: UInt64?,
        targets: TargetSelection,
        allowsUnproxied: Bool,
        journal: String?,
        threads: Int,
        inputs: InputFiles
    ) {
        self.profile = profile
        self.seed = seed ?? profile.seed ?? UInt64.random(in: 0...0xFFFF_FFFF)
        (self.targets, self.allowsUnproxied) = (targets, allowsUnproxied)
        (self.journal, self.threads, self.inputs) = (journal, threads, inputs)
    }

    /// Runs a command to its end and that of every process below it, and returns how it has ended.
    ///
    /// - Throws: `CommandFailure` if it can't be run, or the journal can't be written.
    package func run(_ command: [String]) async throws -> ChildProcess.End {
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
            profile: profile.narrowed(to: "exec"),
            seed: seed
        )
        // As long as the kernel's own, with the usual net.ipv4.tcp_syn_retries.
        configuration.connectTimeout = .seconds(127)
        configuration.handover = { supervised.handOver(to: $0) }
        ProcessLimits.raiseOpenFiles()
        ProcessLimits.ignoreKeyboardSignals()
        let runner = ProxyRunner([configuration], of: profile, journal: journal, threads: threads, inputs: inputs)
        let output = try runner.openJournal()
        let loops: EventLoopGroup
        let signals: LoopBound<[SignalSource]>
        do throws(SystemError) {
            loops = try EventLoopGroup(count: threads)
            signals = try await ExecRunner.passSignals(to: supervised, on: loops.loops[0])
        } catch {
            throw CommandFailure.failed("can't start the event loops: \(error)")
        }
        let journal = output.map {
            JournalWriter($0, header: JournalHeader(of: [configuration], recorded: profile, at: MonotonicClock.now))
        }
        let warnings = Warnings()
        let proxy: Proxy
        do throws(ProxyError) {
            proxy = try await Proxy.start(
                configuration,
                on: loops,
                journal: { journal?.record($0) },
                report: { event in if !ExecRunner.isCommandsOwn(event) { warnings.report(event) } }
            )
        } catch {
            throw CommandFailure(error)
        }
        output?.release()
        let result = await supervise(supervised, command, proxy.address)
        await proxy.stop()
        _ = try? await loops.loops[0].run { for source in signals.value { source.cancel() } }
        await loops.stop()
        warnings.finish()
        try runner.finish(journal, output)
        return try result.get()
    }

    private func supervise(
        _ supervised: SupervisedCommand,
        _ command: [String],
        _ proxy: SocketAddress
    ) async -> Result<ChildProcess.End, CommandFailure> {
        let (targets, allowsUnproxied) = (targets, allowsUnproxied)
        do throws(SupervisedCommand.Problem) {
            let end = try await supervised.run(
                guardedBy: ["guard", "--"] + command,
                through: proxy,
                allowsUnproxied: allowsUnproxied,
                isWanted: { targets.contains($0) },
                note: { Console.warn(ExecRunner.line(about: $0, isAllowed: allowsUnproxied)) }
            )
            return end.map { .success($0) } ?? .failure(.failed("the guard of “\(command[0])” was killed"))
        } catch {
            return .failure(CommandFailure(error, command[0]))
        }
    }

    /// Passes SIGTERM and SIGHUP on to the command. The second of them, or one that comes when the command has ended, ends this
    /// process, and the guard all others.
    private static func passSignals(
        to supervised: SupervisedCommand,
        on loop: EventLoop
    ) async throws(SystemError) -> LoopBound<[SignalSource]> {
        try await loop.run {
            var wasPassed = false
            let sources = [SIGTERM, SIGHUP].map { number in
                SignalSource(number, on: loop) {
                    guard !wasPassed, supervised.send(number) else { Glibc.exit(128 + number) }
                    wasPassed = true
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
