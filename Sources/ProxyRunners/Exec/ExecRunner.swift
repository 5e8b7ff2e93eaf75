import ChaosStage
import EventLoop
import FaultPlan
import FaultProfile
import FoundationEssentials
import Glibc
import Journal
import OperatingSystem
import ProfileFiles
import ProxyEngine
import ProxyRuntime
import Supervisor
import Synchronization
import TerminalDisplay
import Units

/// A page on which the network of a command can be changed.
package protocol ExecPage: Sendable {
    /// Starts the proxy and the page's server.
    ///
    /// - Parameters:
    ///   - record: called for every event of a fault, on any loop.
    ///   - report: called for every other problem, on any loop.
    ///   - begun: called with the proxy, and with each that takes its place, on any thread.
    ///   - changes: called with the profile, and whether the proxy is to run, before each start of the proxy, and before each
    ///     change, on any thread.
    /// - Returns: the proxy, and the port of the page.
    func start(
        _ configuration: ProxyConfiguration,
        on loops: EventLoopGroup,
        record: @escaping @Sendable (JournalEntry) -> Void,
        report: @escaping @Sendable (ProxyEvent) -> Void,
        begun: @escaping @Sendable (Proxy) -> Void,
        changes: @escaping @Sendable (Profile, _ isEnabled: Bool) -> Void
    ) async throws(CommandFailure) -> (proxy: Proxy, port: UInt16)

    /// Stops the server and the proxy.
    func stop() async
}

/// Runs a command behind a profile on every connection that it opens.
package struct ExecRunner {
    private let profile: Profile
    /// The profile in the journal's header, if it is another one: that of the journal that is replayed.
    package var recorded: Profile?
    private let name: String
    private let seed: UInt64
    /// Whether nobody has given the seed.
    private let isSeedDrawn: Bool
    private let targets: TargetSelection
    private let allowsUnproxied: Bool
    private let journal: String?
    private let threads: Int
    private let inputs: InputFiles
    /// Whether options have chosen the targets.
    package var choosesTargets = false
    /// Captures what passes, if set.
    package var capture: CaptureFile?
    /// Whether a terminal has a status line below the command's output.
    package var showsStatus = false
    /// Shows the network, and changes it, if set.
    package var page: (any ExecPage)?
    /// The authority that the command is to trust. It is removed at the end of `run`.
    package var trust: TrustFile?
    /// The process without which this one ends, if set.
    package var parent: Int32?
    /// Sets what else the options say of the proxy.
    package var configure: (inout ProxyConfiguration) -> Void = { _ in }

    /// A runner with `threads` event loops; 0 for one per processor.
    package init(
        _ profile: Profile,
        name: String = "exec",
        seed: UInt64?,
        targets: TargetSelection,
        allowsUnproxied: Bool,
        journal: String?,
        threads: Int,
        inputs: InputFiles
    ) {
        (self.profile, self.name) = (profile, name)
        let known = seed ?? profile.seed
        (self.seed, isSeedDrawn) = (known ?? UInt64.random(in: 0...0xFFFF_FFFF), known == nil)
        (self.targets, self.allowsUnproxied) = (targets, allowsUnproxied)
        (self.journal, self.threads, self.inputs) = (journal, threads, inputs)
    }

    /// Runs a command to its end and that of every process below it, and returns how it has ended.
    ///
    /// - Throws: `CommandFailure` if it can't be run, or the journal can't be written.
    package func run(_ command: [String]) async throws -> ChildProcess.End {
        defer { trust?.remove() }
        try profile.check(actsOn: name, "the one of squall exec has this name; squall run has --name")
        // The page's server opens descriptors that programs would inherit.
        let descriptors = ProcessLimits.openDescriptors
        let environment = try trust.map { trust throws(CommandFailure) in
            ProcessInfo.processInfo.environment.merging(try trust.variables()) { $1 }
        }
        let supervised = SupervisedCommand(try Supervision.opened())
        for line in CommandNotices.lines(about: command[0], ProcessInfo.processInfo.environment) { Console.warn(line) }
        var configuration = ProxyConfiguration(
            supervising: name,
            profile: profile.narrowed(to: name),
            seed: seed
        )
        configuration.capture = capture?.capture
        configure(&configuration)
        ProcessLimits.raiseOpenFiles()
        ProcessLimits.ignoreKeyboardSignals()
        let recorded = recorded ?? profile
        let runner = ProxyRunner([configuration], of: recorded, journal: journal, threads: threads, inputs: inputs)
        let output = try runner.openJournal()
        let captured = capture?.capture
        // Until then the files keep what they have: there may be no such command.
        let activity = CommandActivity {
            output?.release()
            captured?.begin()
        }
        let loops: EventLoopGroup
        let signals: LoopBound<[EventSource]>
        do throws(SystemError) {
            loops = try EventLoopGroup(count: threads)
            InheritedSignals.ignoreOthers()
            signals = try await passSignals(to: supervised, on: loops.loops[0], activity)
        } catch {
            throw CommandFailure.failed("can't start: \(error)")
        }
        let journal = output.map {
            JournalWriter($0, header: JournalHeader(of: [configuration], recorded: recorded, at: MonotonicClock.now))
        }
        let warnings = Warnings()
        let record: @Sendable (JournalEntry) -> Void = { entry in
            journal?.record(entry)
            activity.noteFault()
        }
        let report: @Sendable (ProxyEvent) -> Void = { event in
            if !ExecRunner.isCommandsOwn(event) { warnings.report(event) }
        }
        let proxy: Proxy
        var pagePort: UInt16?
        if let page {
            let generation = Atomic(0)
            (proxy, pagePort) = try await page.start(configuration, on: loops, record: record, report: report) {
                supervised.redirect(to: $0)
            } changes: { profile, isEnabled in
                let number = generation.add(1, ordering: .relaxed).newValue
                guard number > 1 else { return }
                let digest = ProfileDigest.text(of: profile.inJournal)
                journal?.noteProfile(profile.inJournal, digest: digest, generation: number, isEnabled: isEnabled)
            }
        } else {
            do throws(ProxyError) {
                proxy = try await Proxy.start(configuration, on: loops, journal: record, report: report)
            } catch {
                throw CommandFailure(error)
            }
        }
        var noteConnect: (@Sendable (ConnectRecord) -> Void)?
        if let journal { noteConnect = { journal.note($0) } }
        let rules = SupervisionRules(
            targets,
            allowsUnproxied: allowsUnproxied,
            pagePort: pagePort,
            chosen: activity.noteConnection,
            record: noteConnect
        )
        let result = await withStatus(of: proxy) {
            await supervise(supervised, command, environment, descriptors, proxy, rules, activity)
        }
        if let page { await page.stop() } else { await proxy.stop() }
        _ = try? await loops.loops[0].run { for source in signals.value { source.cancel() } }
        await loops.stop()
        warnings.finish()
        if case .success(let end) = result { tell(of: end, activity) }
        try runner.finish(journal, output)
        try capture?.finish()
        return try result.get()
    }

    /// Says what isn't seen of a command that has ended.
    private func tell(of end: ChildProcess.End, _ activity: CommandActivity) {
        if choosesTargets, !activity.hasConnected { Console.warn(Scenario.noChosenTarget) }
        // A journal has the seed, and the line about the page as well.
        guard isSeedDrawn, journal == nil, page == nil, end != .exit(0), activity.hasFaults else { return }
        Console.warn("the seed of this run was \(seed): --seed \(seed) repeats its draws")
    }

    /// Runs `body` with a status line, if there is to be one.
    private func withStatus<Value: Sendable>(of proxy: Proxy, _ body: () async -> Value) async -> Value {
        let live = LiveLine(isOn: showsStatus && Console.isTerminal)
        guard live.isOn else { return await body() }
        Console.share(with: live)
        let display = Task { await RunDisplay(proxies: [proxy], live: live).run() }
        let value = await body()
        display.cancel()
        await display.value
        live.clear(within: Console.patience)
        Console.share(with: nil)
        return value
    }

    private func supervise(
        _ supervised: SupervisedCommand,
        _ command: [String],
        _ environment: [String: String]?,
        _ descriptors: Set<Int32>,
        _ proxy: Proxy,
        _ rules: SupervisionRules,
        _ activity: CommandActivity
    ) async -> Result<ChildProcess.End, CommandFailure> {
        // The guard removes the folder even if this process is killed.
        let words = ["guard"] + (trust.map { [$0.folder] } ?? []) + ["--"] + command
        do throws(SupervisionProblem) {
            let end = try await supervised.run(
                guardedBy: words,
                in: environment,
                keeping: descriptors,
                through: proxy,
                rules
            ) {
                activity.noteStart()
                ExecRunner.noteEnd()
            }
            activity.noteStart()
            return end.map { .success($0) } ?? .failure(.failed("the guard of “\(command[0])” was killed"))
        } catch {
            return .failure(CommandFailure(error, command[0]))
        }
    }

    /// The command has ended, and processes that it has started may live: the keys of the terminal, which were the command's,
    /// end this process from now on, and the guard all others.
    private static func noteEnd() {
        for number in [SIGINT, SIGQUIT] where !InheritedSignals.ignores(number) { signal(number, SIG_DFL) }
        guard Console.isTerminal else { return }
        Task.detached {
            try await Task.sleep(for: .seconds(1))
            Console.warn("the command has ended, and processes that it has started haven't: Ctrl-C ends them")
        }
    }

    /// Passes the first SIGTERM or SIGHUP on to the command, but for one that the caller ignores, and a SIGTERM behind a
    /// SIGHUP. The second of them, a first one that comes when the command has ended, and the end of `parent` end this
    /// process, and the guard all others. SIGINT and SIGQUIT are passed on each time, but for those of the terminal, which
    /// the command has as well.
    private func passSignals(
        to supervised: SupervisedCommand,
        on loop: EventLoop,
        _ activity: CommandActivity
    ) async throws(SystemError) -> LoopBound<[EventSource]> {
        let trust = trust
        var descriptor: Int32?
        if let parent { descriptor = try ForegroundCommand.watched(process: parent) }
        let keyboard = try InheritedSignals.sent([SIGINT, SIGQUIT])
        return try await loop.run { [descriptor] in
            var signals = EndSignals()
            @Sendable func end(_ number: Int32) -> Never {
                supervised.kill()
                trust?.remove()
                Glibc.exit(128 + number)
            }
            var sources = [SIGTERM, SIGHUP].filter { !InheritedSignals.ignores($0) }.map { number in
                ProcessLimits.unblock(number)
                return EventSource(signal: number, on: loop) {
                    switch signals.next(number, at: MonotonicClock.now) {
                    case .first: if !supervised.send(number) { end(number) }
                    case .repetition: break
                    case .second:
                        activity.noteStart()
                        end(number)
                    }
                }
            }
            sources += [
                EventSource(readable: keyboard, on: loop) {
                    while let number = InheritedSignals.takeSent(from: keyboard) {
                        guard supervised.send(number) else { end(number) }
                    }
                }
            ]
            if let descriptor {
                sources += [
                    EventSource(readable: descriptor, on: loop) {
                        supervised.kill()
                        trust?.remove()
                        Glibc.exit(1)
                    }
                ]
            }
            return LoopBound(sources, on: loop)
        }
    }

    /// Whether an event is one that the command sees itself.
    private static func isCommandsOwn(_ event: ProxyEvent) -> Bool {
        if case .targetUnreachable = event { true } else { false }
    }
}
