internal import Digests
internal import FoundationEssentials
internal import OperatingSystem
internal import Synchronization
internal import TransferClient
internal import Units

extension QueueRunner {
    /// The commands that run at a time: 4.
    private static let maximumCommands = 4
    /// How long a command may run: 10 min.
    private static let commandLimit = Duration.seconds(600)
    /// How long commands may go on when the queue is closed: 10 s.
    private static let commandPatience = Duration.seconds(10)

    // MARK: Readers

    /// Tells the readers of a changed job.
    func note(_ id: QueueJobID, _ work: borrowing Work) {
        for reader in work.readers.values { reader.note(id) }
    }

    /// A new reader, to which all jobs are new, and their number.
    func addReader() async throws(TransferQueueError) -> (number: Int, reader: QueueReader, untold: Int?) {
        try await perform { (work) throws(TransferQueueError) in
            let reader = QueueReader(work.state.jobs.keys.sorted())
            work.lastReader += 1
            work.readers[work.lastReader] = reader
            return (work.lastReader, reader, work.state.jobs.count)
        }
    }

    /// Forgets a reader.
    func removeReader(_ number: Int) {
        post { $0.readers[number] = nil }
    }

    /// The status of a job; `nil` if there is none.
    func status(_ id: QueueJobID) async throws(TransferQueueError) -> QueueJobStatus? {
        try await perform { (work) throws(TransferQueueError) in
            work.state.jobs[id].map { QueueJobStatus($0, work.positions[id], work.progress[id]) }
        }
    }

    // MARK: Events and commands

    /// The first event that wasn't delivered and is later than one.
    func event(after number: UInt64) async throws(TransferQueueError) -> QueueEvent? {
        try await perform { (work) throws(TransferQueueError) in
            work.state.jobs.values.compactMap(\.event).filter { $0.number > number }.min { $0.number < $1.number }
        }
    }

    /// Writes that an event was delivered.
    func deliver(_ event: QueueEvent) async throws(TransferQueueError) {
        try await perform { [self] (work) throws(TransferQueueError) in
            if let job = work.state.delivered(event) { try write(job, &work) }
        }
    }

    /// Starts the commands that are owed; returns `false` if the end of one can't be written now. It isn't run again.
    func runCommands(_ work: inout Work) -> Bool {
        let isWritten = noteEndedCommands(&work)
        let owed = work.state.jobs.values.compactMap(\.commandOwed).sorted { $0.number < $1.number }
        let ended = work.endedCommands.map(\.number)
        for event in owed where !ended.contains(event.number) && work.commands[event.number] == nil {
            guard work.commands.count < Self.maximumCommands, let job = work.state.jobs[event.job] else { continue }
            work.commands[event.number] = Task { [self] in
                let end = await Self.run(job.transfer, event)
                let isStopped = Task.isCancelled
                tell("job \(job.id): its command \(end)")
                post { [self] work in
                    work.commands[event.number] = nil
                    // One that was stopped runs again at the next start.
                    if !isStopped { work.endedCommands.append(event) }
                    replan(&work)
                }
            }
        }
        return isWritten
    }

    /// Writes which commands have ended; returns `false` if that can't be written now.
    func noteEndedCommands(_ work: inout Work) -> Bool {
        var rest: [QueueEvent] = []
        for event in work.endedCommands {
            if let job = work.state.commandEnded(event), (try? write(job, &work)) == nil { rest.append(event) }
        }
        work.endedCommands = rest
        return rest.isEmpty
    }

    /// Waits for commands, and kills those that take too long.
    static func finish(_ commands: [Task<Void, Never>]) async {
        guard !commands.isEmpty else { return }
        let timer = Task {
            guard (try? await Pause.sleep(for: commandPatience)) != nil else { return }
            for command in commands { command.cancel() }
        }
        for command in commands { await command.value }
        timer.cancel()
    }

    private static func run(_ transfer: QueuedTransfer, _ event: QueueEvent) async -> String {
        var environment = ProcessInfo.processInfo.environment
        environment["SQUALL_JOB"] = "\(event.job)"
        environment["SQUALL_EVENT"] = "\(event.number)"
        environment["SQUALL_PHASE"] = event.phase.rawValue
        environment["SQUALL_REASON"] = event.reason?.rawValue ?? ""
        environment["SQUALL_FILE"] = transfer.file
        environment["SQUALL_SHA256"] = event.result?.sha256.hexadecimal ?? ""
        do throws(SystemError) {
            let child = try ChildProcess(transfer.command, environment: environment)
            let timer = Task {
                guard (try? await Pause.sleep(for: commandLimit)) != nil else { return }
                child.signalGroup(9)
            }
            defer { timer.cancel() }
            let end = await withTaskCancellationHandler {
                await child.end()
            } onCancel: {
                child.signalGroup(9)
            }
            switch end {
            case .exit(let code): return "exited with \(code)"
            case .signal(let number): return "was ended by signal \(number)"
            }
        } catch {
            return "can't be started: \(error)"
        }
    }
}

/// The jobs that one reader hasn't seen since they changed, each once.
final class QueueReader: Sendable {
    private struct State {
        var changed: [QueueJobID]
        var known: Set<QueueJobID>
        var waiting: CheckedContinuation<Void, Never>?
        var isFinished = false
    }

    private let state: Mutex<State>

    init(_ jobs: [QueueJobID]) { state = Mutex(State(changed: jobs, known: Set(jobs))) }

    /// Notes a change.
    func note(_ id: QueueJobID) {
        state.withLock { state in
            if state.known.insert(id).inserted { state.changed.append(id) }
            defer { state.waiting = nil }
            return state.waiting
        }?.resume()
    }

    /// Ends the reader.
    func finish() {
        state.withLock { state in
            state.isFinished = true
            defer { state.waiting = nil }
            return state.waiting
        }?.resume()
    }

    /// The next changed job, as soon as there is one; `nil` at the end, and when the task is cancelled.
    func next() async -> QueueJobID? {
        while !Task.isCancelled {
            let (id, isFinished) = state.withLock { state -> (QueueJobID?, Bool) in
                guard !state.changed.isEmpty else { return (nil, state.isFinished) }
                let id = state.changed.removeFirst()
                state.known.remove(id)
                return (id, false)
            }
            if let id { return id }
            if isFinished { return nil }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let isDue = state.withLock { state in
                        if !state.changed.isEmpty || state.isFinished || Task.isCancelled { return true }
                        state.waiting = continuation
                        return false
                    }
                    if isDue { continuation.resume() }
                }
            } onCancel: {
                state.withLock { state in
                    defer { state.waiting = nil }
                    return state.waiting
                }?.resume()
            }
        }
        return nil
    }
}

extension QueueState {
    /// Whether a job depends on the power supply.
    var hasDiscretionary: Bool { jobs.values.contains { $0.isActive && $0.transfer.isDiscretionary } }
}

extension QueueJob {
    /// The stage as a line of a log, without a URL and without a secret.
    var line: String {
        switch stage {
        case .active: "queued"
        case .retrying(let reason, let message, _): "waiting (\(reason)): \(message)"
        case .needing(let reason, let message): "waiting (\(reason)), resume it: \(message)"
        case .paused: "paused"
        case .completed(let result): "completed, \(result.bytes) bytes"
        case .failed(let reason, let message): "failed (\(reason)): \(message)"
        case .cancelled: "cancelled"
        }
    }
}
