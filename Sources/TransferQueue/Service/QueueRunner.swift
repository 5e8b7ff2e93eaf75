internal import Dispatch
internal import DurableFiles
internal import OperatingSystem
internal import Synchronization
internal import TransferClient
internal import Units

/// A queue at work. Everything is decided and written on one thread, in order; transfers and commands run on tasks.
final class QueueRunner: Sendable {
    /// What the thread has.
    struct Work {
        var state: QueueState
        /// `nil` once the queue is closed.
        var log: QueueLog?
        /// Whether nothing is started any more.
        var isClosing = false
        var runs: [QueueJobID: Run] = [:]
        var positions: [QueueJobID: QueuePosition] = [:]
        var progress: [QueueJobID: QueueProgress] = [:]
        /// The values of headers in memory, by job and by name in lower case.
        var secrets: [QueueJobID: [String: String]] = [:]
        /// The commands that run, by the numbers of their events.
        var commands: [UInt64: Task<Void, Never>] = [:]
        /// The events whose commands have ended, until that is in the log.
        var endedCommands: [QueueEvent] = []
        var readers: [Int: QueueReader] = [:]
        var lastReader = 0
        /// Origins without a route.
        var unreachable: Set<String> = []
        var timer: Task<Void, Never>?
        var network: Task<Void, Never>?
        var random: SeededGenerator
    }

    /// A running transfer.
    struct Run {
        var task: Task<Void, Never>
        /// Whether the content of its upload may have been sent before it.
        var wasSent = false
        var isStopping = false
        /// Whether the job has got another URL or header since it began, so that its failure isn't the job's.
        var isOutdated = false
        /// How it ended, until that is in the log.
        var outcome: QueueOutcome?
    }

    let transfers: QueueTransfers
    let surroundings: QueueSurroundings
    let tell: @Sendable (String) -> Void
    private let thread = DispatchQueue(label: "squall.queue")
    private let work: Mutex<Work>

    /// The longest sleep while a job waits for a time: 60 s. The clock on the wall may be set, or the machine sleep.
    private static let longestSleep = Duration.seconds(60)
    /// The wait after a record couldn't be written: 5 s.
    private static let writeRetry = Duration.seconds(5)

    init(
        _ log: QueueLog,
        _ state: QueueState,
        _ transfers: QueueTransfers,
        _ surroundings: QueueSurroundings,
        seed: UInt64,
        tell: @escaping @Sendable (String) -> Void
    ) {
        self.transfers = transfers
        self.surroundings = surroundings
        self.tell = tell
        work = Mutex(Work(state: state, log: log, random: SeededGenerator(seed: seed)))
    }

    // MARK: The thread

    /// Runs `body` on the thread.
    @_semantics("optimize.sil.specialize.generic.never")
    func perform<Value: Sendable>(
        _ body: @escaping @Sendable (inout Work) throws(TransferQueueError) -> Value
    ) async throws(TransferQueueError) -> Value {
        try await thread.run { [self] () throws(TransferQueueError) in
            try work.withLock { (work) throws(TransferQueueError) in
                guard work.log != nil else { throw TransferQueueError(.closed, "the queue is closed") }
                return try body(&work)
            }
        }
    }

    /// Runs `body` on the thread later, unless the queue is closed then.
    func post(_ body: @escaping @Sendable (inout Work) -> Void) {
        thread.async { [self] in
            work.withLock { work in
                if work.log != nil { body(&work) }
            }
        }
    }

    /// Writes a job to the log, takes it over, and tells the readers.
    func write(_ job: QueueJob, _ work: inout Work) throws(TransferQueueError) {
        var next = work.state
        next.put(job)
        do throws(FileError) {
            try work.log?.append(.job(job), next)
        } catch {
            throw TransferQueueError(.fileSystem, "the queue's log can't be written: \(error)", error)
        }
        if job.stage != work.state.jobs[job.id]?.stage { tell("job \(job.id): \(job.line)") }
        work.state = next
        if job.phase.isFinal { work.secrets[job.id] = nil }
        note(job.id, work)
    }

    /// Decides about a job, and writes it.
    func decide(
        _ work: inout Work,
        _ decision: (QueueState) throws(QueueProblem) -> QueueJob
    ) throws(TransferQueueError) -> QueueJob {
        let job: QueueJob
        do throws(QueueProblem) {
            job = try decision(work.state)
        } catch {
            throw TransferQueueError(error)
        }
        try write(job, &work)
        return job
    }

    /// Decides about a job, writes it, and plans anew.
    func change(
        _ decision: @escaping @Sendable (QueueState) throws(QueueProblem) -> QueueJob
    ) async throws(TransferQueueError) -> QueueJob {
        try await perform { [self] (work) throws(TransferQueueError) in
            let job = try decide(&work, decision)
            replan(&work)
            return job
        }
    }

    // MARK: Planning

    /// Starts and stops what has to be, and sets the timer.
    func replan(_ work: inout Work) {
        guard work.log != nil, !work.isClosing else { return }
        let now = surroundings.now()
        var unwritten: [QueueJobID: QueuePosition] = [:]
        func write(_ job: QueueJob?, _ work: inout Work) -> Bool {
            guard let job else { return true }
            do throws(TransferQueueError) {
                try self.write(job, &work)
                return true
            } catch {
                let isFull = [.noSpace, .diskQuotaExceeded].contains(error.cause?.errno)
                unwritten[job.id] = QueuePosition(
                    phase: .waiting,
                    reason: isFull ? .diskFull : .folder,
                    message: error.message
                )
                return false
            }
        }
        forgetEndedRuns(&work, write)
        let hosts = ReachableHosts(surroundings, transfers)
        for origin in work.unreachable where hosts.isReachable(origin) {
            work.unreachable.remove(origin)
            for job in work.state.reached(origin) { _ = write(job, &work) }
        }
        let conditions = QueueConditions(
            now: now,
            offset: surroundings.offset(now),
            isReachable: { hosts.isReachable($0) },
            cost: { hosts.cost($0) },
            isOnMains: !work.state.hasDiscretionary || surroundings.isOnMains()
        )
        let plan = work.state.plan(running: Set(work.runs.keys), conditions)
        work.unreachable.formUnion(hosts.unreachable)
        for id in plan.expired {
            _ = write(work.state.expired(id), &work)
            stop(id, &work)
        }
        for id in plan.stop { stop(id, &work) }
        for id in plan.start {
            guard let job = work.state.jobs[id], job.isActive, write(work.state.started(id), &work) else { continue }
            start(job, &work)
        }
        for (id, position) in plan.positions.merging(unwritten, uniquingKeysWith: { $1 })
        where work.positions[id] != position {
            work.positions[id] = position
            note(id, work)
        }
        let mustRetry = !runCommands(&work) || !unwritten.isEmpty
        watch(plan, now, mustRetry, &work)
    }

    private func watch(_ plan: QueuePlan, _ now: QueueTime, _ mustRetry: Bool, _ work: inout Work) {
        work.timer?.cancel()
        work.timer = nil
        var sleep = plan.wake.map { min(max(.milliseconds(1), $0 - now), Self.longestSleep) }
        if plan.dependsOnPower { sleep = min(sleep ?? Self.longestSleep, Self.longestSleep) }
        if mustRetry { sleep = min(sleep ?? Self.writeRetry, Self.writeRetry) }
        if let sleep {
            work.timer = Task { [weak self] in
                guard (try? await Pause.sleep(for: sleep)) != nil else { return }
                self?.post { [weak self] work in self?.replan(&work) }
            }
        }
        if plan.dependsOnNetwork, work.network == nil {
            let changes = surroundings.networkChanges()
            work.network = Task { [weak self] in
                for await _ in changes { self?.post { [weak self] work in self?.replan(&work) } }
            }
        } else if !plan.dependsOnNetwork {
            work.network?.cancel()
            work.network = nil
        }
    }

    // MARK: Runs

    /// Starts a run.
    ///
    /// - Parameter job: The job as it was before this run.
    private func start(_ job: QueueJob, _ work: inout Work) {
        let id = job.id
        guard work.runs[id] == nil else { return }
        let secrets = work.secrets[id] ?? [:]
        tell("job \(id): started")
        let task = Task { [self] in
            let outcome = await transfers.run(job, secrets: secrets) { [weak self] progress in
                self?.post { [weak self] work in
                    work.progress[id] = progress
                    self?.note(id, work)
                }
            } willFinish: { [weak self] (proof) async throws(TransferError) in
                try await self?.willFinish(id, proof)
            }
            post { [self] work in
                work.runs[id]?.outcome = outcome
                replan(&work)
            }
        }
        work.runs[id] = Run(task: task, wasSent: job.mayBeSent == true)
    }

    func stop(_ id: QueueJobID, _ work: inout Work) {
        guard let run = work.runs[id], !run.isStopping, run.outcome == nil else { return }
        work.runs[id]?.isStopping = true
        run.task.cancel()
    }

    /// Writes that everything of a transfer is there, before its last step.
    private func willFinish(_ id: QueueJobID, _ proof: QueueResult) async throws(TransferError) {
        do throws(TransferQueueError) {
            try await perform { [self] (work) throws(TransferQueueError) in
                guard let job = work.state.finishing(id, proof) else {
                    throw TransferQueueError(.closed, "the job has ended")
                }
                try write(job, &work)
            }
        } catch {
            guard let cause = error.cause else { throw .cancelled }
            throw .fileSystem(call: cause.call, path: cause.path.string, cause.errno)
        }
    }

    /// How a run ended, as it counts: without a route, or with an outdated URL or header, no attempt does.
    private func counted(_ outcome: QueueOutcome, of id: QueueJobID, _ work: borrowing Work) -> QueueOutcome {
        if work.runs[id]?.isOutdated == true {
            if case .completed = outcome { return outcome }
            return .stopped(hasProgressed: false, mayBeRepeated: outcome.mayBeRepeated)
        }
        guard case .retry(.retry, _, let hasProgressed, _, let mayBeRepeated) = outcome, let job = work.state.jobs[id],
            !surroundings.isReachable(transfers.nextHop(to: job.origin))
        else { return outcome }
        return .stopped(hasProgressed: hasProgressed, mayBeRepeated: mayBeRepeated)
    }

    /// Writes how runs have ended, and forgets those for which `write` returns `true`.
    private func forgetEndedRuns(_ work: inout Work, _ write: (QueueJob?, inout Work) -> Bool) {
        let now = surroundings.now()
        for (id, run) in work.runs {
            guard let outcome = run.outcome else { continue }
            let counted = counted(outcome, of: id, work)
            let fraction = work.random.nextFraction()
            let job = work.state.ended(id, counted, wasSent: run.wasSent, at: now, fraction: fraction)
            guard write(job, &work) else { continue }
            if case .stopped = counted { tell("job \(id): stopped") }
            work.runs[id] = nil
        }
    }

    // MARK: The end

    /// Stops all transfers, waits until what they have is on the disk and commands have ended, and closes the log.
    func close() async {
        typealias Tasks = [Task<Void, Never>]
        let running = try? await perform { [self] (work) throws(TransferQueueError) -> (runs: Tasks, commands: Tasks) in
            work.isClosing = true
            work.timer?.cancel()
            work.network?.cancel()
            for id in work.runs.keys { stop(id, &work) }
            return (work.runs.values.map(\.task), Array(work.commands.values))
        }
        for task in running?.runs ?? [] { await task.value }
        await Self.finish(running?.commands ?? [])
        let readers = try? await perform { [self] (work) throws(TransferQueueError) -> [QueueReader] in
            forgetEndedRuns(&work) { job, work in job.map { (try? write($0, &work)) != nil } ?? true }
            _ = noteEndedCommands(&work)
            work.log?.close()
            work.log = nil
            defer { work.readers = [:] }
            return Array(work.readers.values)
        }
        for reader in readers ?? [] { reader.finish() }
    }
}

/// Looks the next hop of each origin up once.
private final class ReachableHosts {
    private let surroundings: QueueSurroundings
    private let transfers: QueueTransfers
    private var known: [String: Bool] = [:]
    private var costs: [String: QueueNetworkCost] = [:]

    init(_ surroundings: QueueSurroundings, _ transfers: QueueTransfers) {
        self.surroundings = surroundings
        self.transfers = transfers
    }

    var unreachable: [String] { known.filter { !$0.value }.map(\.key) }

    func isReachable(_ origin: String) -> Bool {
        if let known = known[origin] { return known }
        let isReachable = surroundings.isReachable(transfers.nextHop(to: origin))
        known[origin] = isReachable
        return isReachable
    }

    func cost(_ origin: String) -> QueueNetworkCost {
        if let cost = costs[origin] { return cost }
        let cost = surroundings.cost(transfers.nextHop(to: origin))
        costs[origin] = cost
        return cost
    }
}
