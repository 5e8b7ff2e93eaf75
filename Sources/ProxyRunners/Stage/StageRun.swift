import ChaosStage
import CommandParsing
import Digests
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

/// Runs the command of a stage once, through proxies of its own.
struct StageRun {
    let scenario: Scenario
    let stageCase: StageCase
    /// Applies the limits of a proxy.
    let limit: @Sendable (inout ProxyConfiguration) -> Void
    /// The targets whose connections are redirected, where the command is supervised.
    let targets: TargetSelection
    /// The variables that have the command trust the authority of its proxies.
    let trust: [String: String]
    /// The path in front of the endings of the run's journal and output; `nil` to write neither.
    let artifacts: String?
    /// Captures what passes the proxies, if set.
    var capture: CaptureFile?
    let showsOutput: Bool

    /// What a run has shown.
    struct Outcome {
        var ending: RunReport.Ending
        var measurements: Measurements
        var digests: [String: Result<String, Expectation.DigestFailure>]
        var coverage: [Coverage]
        var timeline: Timeline
        var output: (text: String, dropped: Int64)
        /// The events of the faults of each proxy.
        var events: [[RecordedFaultEvent]]
        /// Why its journal or its output can't be kept; `nil` if they are.
        var fileFailure: String?
    }

    /// How often the bytes are counted: every 100 ms.
    private static let sampleInterval = Duration.milliseconds(100)

    /// Runs the command to its end or the time limit. Nothing is left of it afterwards: no process, no socket, no folder.
    ///
    /// - Throws: `CommandFailure` if the command, a proxy or a file can't be had; `CancellationError` if the task was
    ///   cancelled.
    func run(on loops: EventLoopGroup) async throws -> Outcome {
        // A capture that fails has been told, and fails no run.
        defer { try? capture?.finish() }
        let folder = StageRun.newFolder()
        let supervision = scenario.isSupervised ? try Supervision.opened() : nil
        let started = try await start(folder, supervision)
        let command = try CommandFailure.attempting("can't make the folder “\(folder)” of a run") { try started.get() }
        let result: Result<Outcome, any Error>
        do {
            result = .success(try await run(command, supervision, folder, on: loops))
        } catch {
            result = .failure(error)
        }
        await command.release()
        await supervision?.end()
        return try result.get()
    }

    private func start(
        _ folder: String,
        _ supervision: Supervision?
    ) async throws(CommandFailure) -> Result<GuardedCommand, SystemError> {
        guard let supervision else {
            return await StageRun.result { () async throws(SystemError) in
                try await GuardedCommand.start(folder: folder, guardedBy: ["guard", folder])
            }
        }
        do throws(SupervisionProblem) {
            let command = try await supervision.start {
                Result { () throws(SystemError) in
                    try GuardedCommand.spawn(folder: folder, guardedBy: ["guard", "--supervised", folder])
                }
            }
            return await StageRun.result { () async throws(SystemError) in
                let command = try command.get()
                try await command.ready()
                return command
            }
        } catch {
            throw CommandFailure(error, scenario.command[0])
        }
    }

    private func run(
        _ command: GuardedCommand,
        _ supervision: Supervision?,
        _ folder: String,
        on loops: EventLoopGroup
    ) async throws -> Outcome {
        let began = MonotonicClock.now
        let configurations = try configurations(in: folder, at: began)
        let files = try RunFiles(artifacts)
        let journal = files.journal.map {
            JournalWriter($0.writer, header: JournalHeader(of: configurations, recorded: recorded, at: began))
        }
        let log = files.log
        let showsOutput = showsOutput
        let recorder = RunRecorder(scenario.proxies.map(\.name), began: began, journal: journal) { bytes in
            log?.write(bytes)
            if showsOutput { Console.pass(bytes) }
        }
        var proxies: [Proxy] = []
        do {
            for (index, configuration) in configurations.enumerated() {
                var configuration = configuration
                configuration.capture = capture?.capture
                if scenario.needsMessages || artifacts != nil {
                    configuration.resumed = { recorder.record($0, proxy: index) }
                }
                proxies.append(try await StageRun.start(configuration, on: loops, recorder, index))
            }
            capture?.capture.begin()
            let rules = SupervisionRules(targets, allowsUnproxied: false) { recorder.note($0) }
            supervision?.serve(by: proxies[0], rules)
            var outcome = try await run(command, folder, proxies, recorder)
            // What is printed next begins a line.
            if showsOutput, let last = outcome.output.text.utf8.last, last != UInt8(ascii: "\n") {
                Console.pass([UInt8(ascii: "\n")])
            }
            for proxy in proxies { await proxy.stop() }
            journal?.finish()
            do throws(CommandFailure) { try files.finish() } catch { outcome.fileFailure = error.message }
            return outcome
        } catch {
            for proxy in proxies { await proxy.stop() }
            files.discard()
            throw error
        }
    }

    private static func start(
        _ configuration: ProxyConfiguration,
        on loops: EventLoopGroup,
        _ recorder: RunRecorder,
        _ index: Int
    ) async throws(CommandFailure) -> Proxy {
        do throws(ProxyError) {
            return try await Proxy.start(
                configuration,
                on: loops,
                journal: { recorder.record($0) },
                report: { recorder.note($0, proxy: index) }
            )
        } catch {
            throw CommandFailure(error)
        }
    }

    private func run(
        _ command: GuardedCommand,
        _ folder: String,
        _ proxies: [Proxy],
        _ recorder: RunRecorder
    ) async throws -> Outcome {
        let environment = StageEnvironment(
            scenario.isSupervised ? [] : zip(scenario.proxies, proxies.map(\.address)).map { ($0, $1) },
            seed: stageCase.seed,
            profile: stageCase.name,
            folder: folder,
            trust: trust
        )
        let sampling = Task {
            while (try? await Task.sleep(for: StageRun.sampleInterval)) != nil {
                await StageRun.sample(proxies, recorder)
            }
        }
        let isLate = Mutex(false)
        let limit = scenario.timeLimit
        let watch = Task {
            try await Task.sleep(for: limit)
            isLate.withLock { $0 = true }
            command.stop()
        }
        defer {
            sampling.cancel()
            watch.cancel()
        }
        let started = MonotonicClock.now
        let arguments = scenario.command.map(environment.filled)
        let result = await withTaskCancellationHandler {
            await StageRun.result { () async throws(SystemError) in
                try await command.run(arguments, environment: environment.variables) { recorder.receive($0) }
            }
        } onCancel: {
            command.stop()
        }
        let end: GuardedCommand.End
        do throws(SystemError) {
            end = try result.get()
        } catch {
            if error.call == GuardedCommand.supervisingCall {
                throw CommandFailure(SupervisionProblem.forbidden(error), arguments[0])
            }
            let message = "can't run “\(arguments[0])”: \(error)"
            let isWrong = [ENOENT, EACCES, ENOTDIR, ENOEXEC, E2BIG, ELOOP, ENAMETOOLONG].contains(error.code)
            throw isWrong ? CommandFailure.wrongInput(message) : .failed(message)
        }
        let ended = MonotonicClock.now
        try Task.checkCancellation()
        sampling.cancel()
        await sampling.value
        await StageRun.sample(proxies, recorder)
        return Outcome(
            ending: StageRun.ending(end, isLate: isLate.withLock { $0 }, limit),
            measurements: await measurements(end, ended - started, proxies, recorder),
            digests: digests(environment),
            coverage: zip(scenario.proxies, stageCase.profiles).map { proxy, profile in
                Coverage(
                    of: profile,
                    seed: stageCase.seed,
                    proxy: proxy.name,
                    time: ended - recorder.began,
                    acted: recorder.actedFaults(of: proxy.name)
                )
            },
            timeline: recorder.timeline(proxies, end: ended),
            output: recorder.output,
            events: scenario.proxies.map { recorder.events(of: $0.name) }
        )
    }

    private static func result<Success>(
        _ body: () async throws(SystemError) -> Success
    ) async -> Result<Success, SystemError> {
        do throws(SystemError) {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }

    private static func sample(_ proxies: [Proxy], _ recorder: RunRecorder) async {
        var statistics: [Statistics] = []
        for proxy in proxies { statistics.append(await proxy.statistics()) }
        recorder.sample(statistics, at: MonotonicClock.now)
    }

    private static func ending(_ end: GuardedCommand.End, isLate: Bool, _ limit: Duration) -> RunReport.Ending {
        switch end {
        case .exit(let code): isLate ? .timeLimit(limit) : .exit(code)
        case .signal(let number): isLate ? .timeLimit(limit) : .signal(number)
        case .guardLost(let wasStopped): .guardLost(wasStopped: wasStopped)
        }
    }

    private func measurements(
        _ end: GuardedCommand.End,
        _ time: Duration,
        _ proxies: [Proxy],
        _ recorder: RunRecorder
    ) async -> Measurements {
        let exit: Int64
        switch end {
        case .exit(let code): exit = Int64(code)
        case .signal(let number): exit = 128 + Int64(number)
        case .guardLost: exit = 128 + Int64(SIGKILL)
        }
        var figures: [Measurements.Proxy] = []
        for (index, (proxy, resumptions)) in zip(proxies, recorder.resumptions).enumerated() {
            let statistics = await proxy.statistics()
            var figure = Measurements.Proxy(name: proxy.configuration.name)
            figure.upstream = statistics.upstreamBytes
            figure.downstream = statistics.downstreamBytes
            figure.connections = Int64(clamping: statistics.accepted)
            figure.resumptions = resumptions
            for (kind, count) in statistics.faultEvents { figure.faults[kind.rawValue] = Int64(clamping: count) }
            figure.unreadStreams = recorder.unreadStreams(ofProxyAt: index)
            figure.clientFailure = recorder.clientFailure(ofProxyAt: index)
            if statistics.failed == statistics.accepted {
                figure.upstreamFailure = recorder.upstreamFailure(ofProxyAt: index, hasFaults: figure.faultCount > 0)
            }
            figures.append(figure)
        }
        return Measurements(exit: exit, time: time, proxies: figures)
    }

    /// The SHA-256 of each file that an expectation is about. `{folder}` and `{seed}` count in a path.
    private func digests(_ environment: StageEnvironment) -> [String: Result<String, Expectation.DigestFailure>] {
        let paths = Set(scenario.expectations.flatMap(\.files))
        return Dictionary(
            uniqueKeysWithValues: paths.map { path in
                do throws(CommandFailure) {
                    return (path, .success(try FileDigest.sha256(ofFile: environment.filled(path)).hexadecimal))
                } catch {
                    return (path, .failure(Expectation.DigestFailure(reason: error.message)))
                }
            }
        )
    }

    /// The profile for the journal's header: the only one, or all proxies with theirs.
    private var recorded: Profile? {
        guard scenario.proxies.count > 1 else { return nil }
        var profile = Profile(name: stageCase.name)
        profile.proxies = zip(scenario.proxies, stageCase.profiles).map { proxy, own in
            var definition = ProxyDefinition(
                name: proxy.name,
                listen: "127.0.0.1:0",
                upstream: proxy.upstream
            )
            definition.profile = ProxyProfile(
                name: own.name,
                faults: own.faults,
                phases: own.phases,
                repeats: own.repeats
            )
            return definition
        }
        return profile
    }

    private func configurations(in folder: String, at moment: Moment) throws(CommandFailure) -> [ProxyConfiguration] {
        let buckets = GlobalBuckets(stageCase.profiles, start: moment)
        return try zip(scenario.proxies, stageCase.profiles).map { proxy, profile throws(CommandFailure) in
            var configuration = try configuration(of: proxy, profile, in: folder)
            limit(&configuration)
            configuration.globalBuckets = buckets
            return configuration
        }
    }

    private func configuration(
        of proxy: Scenario.Proxy,
        _ profile: Profile,
        in folder: String
    ) throws(CommandFailure) -> ProxyConfiguration {
        if scenario.isSupervised {
            return ProxyConfiguration(supervising: proxy.name, profile: profile, seed: stageCase.seed)
        }
        var place = Endpoint(host: "127.0.0.1", port: 0, usesTLS: proxy.listening == .tls)
        if proxy.listening == .unix {
            let path = "unix:\(folder)/\(StageEnvironment.variable(of: proxy.name)).sock"
            do throws(UnitError) {
                place = Endpoint(unix: try UnixSocketName(parsing: path))
            } catch {
                throw .wrongInput("\(error.problem): set TMPDIR to a folder with a shorter path")
            }
        }
        guard let upstream = try? ArgumentReading.endpoint(proxy.upstream) else {
            preconditionFailure("The upstreams of a scenario have been checked.")
        }
        return ProxyConfiguration(
            name: proxy.name,
            listen: place,
            upstream: upstream,
            profile: profile,
            seed: stageCase.seed
        )
    }

    /// A path at which nothing is, for the folder of a run. Short, because the path of a Unix-domain socket in it has at most
    /// 107 bytes, and of one length, so that no later run exceeds them.
    private static func newFolder() -> String {
        let number = String(UInt64.random(in: 1 << 63 ... .max), radix: 36)
        return FileManager.default.temporaryDirectory.appendingPathComponent("squall-\(number)").path
    }
}
