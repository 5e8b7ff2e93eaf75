import FoundationEssentials
import OperatingSystem
import TerminalDisplay
import TransferQueue

/// A client of the daemon, which it starts if none runs.
struct QueueClient {
    let place: QueuePlace

    /// How often and how long a client waits for a daemon that another one starts: 100 times 50 ms.
    private static let (tries, pause) = (100, Duration.milliseconds(50))

    /// Makes a call, and hands its answers but the last to `receive` until that returns `false`.
    ///
    /// - Parameter starts: Whether a daemon is started if none runs; without one `false` is returned.
    @discardableResult func call(
        _ call: QueueCall,
        starts: Bool = true,
        _ receive: (QueueAnswer) async throws -> Bool = { _ in true }
    ) async throws -> Bool {
        if starts, !call.makesQueue, !FileManager.default.fileExists(atPath: place.folder) {
            throw CommandFailure.wrongInput("there is no queue \(place.name.quoted): squall queue submit makes one")
        }
        guard let connection = try await connect(starts: starts) else { return false }
        do {
            try await place.socket.call(call, on: connection) { answer, _ in try await receive(answer) }
        } catch let error as TransferQueueError {
            throw Self.failure(error)
        }
        return true
    }

    /// The status of a job, or of all; without a daemon those of the log, all of them.
    func statuses(of job: QueueJobID? = nil) async throws -> (statuses: [QueueJobStatus], isRunning: Bool) {
        var statuses: [QueueJobStatus] = []
        let isRunning = try await call(.status(job), starts: false) { answer in
            if case .job(let status) = answer { statuses.append(status) }
            return true
        }
        guard !isRunning else { return (statuses, true) }
        do throws(TransferQueueError) {
            return (try TransferQueue.statuses(inLogOf: place.folder), false)
        } catch {
            throw CommandFailure.failed(error.message)
        }
    }

    private static func failure(_ error: TransferQueueError) -> CommandFailure {
        let isInput = [.invalid, .noJob, .wrongPhase, .duplicate].contains(error.code)
        return isInput ? .wrongInput(error.message) : .failed(error.message)
    }

    private func connect(starts: Bool) async throws -> QueueChannel.Channel? {
        do {
            if let channel = try await place.socket.connect() { return channel }
            guard starts else { return nil }
            try start()
            for _ in 0..<Self.tries {
                if let channel = try await place.socket.connect() { return channel }
                try await Task.sleep(for: Self.pause)
            }
        } catch let error as TransferQueueError {
            throw Self.failure(error)
        }
        throw CommandFailure.failed(
            "the queue's daemon doesn't answer at “\(place.socket.path)”: see “squall queue logs”, and end its "
                + "process if its socket was removed"
        )
    }

    /// Starts a daemon, and returns when it listens, or when another one has the queue.
    private func start() throws(CommandFailure) {
        guard case .ready(let process) = try started(["queue", "serve", "--name", place.name]) else { return }
        Console.warn("started the queue's daemon, process \(process), which ends when it is idle")
    }

    /// Starts a daemon, and returns when it listens, or when another one has the queue.
    func started(_ arguments: [String]) throws(CommandFailure) -> DetachedProgram.Start {
        try place.makeFolder()
        let start = try CommandFailure.attempting("can't start the queue's daemon") {
            try DetachedProgram.start(log: DetachedProgram.openLog(place.output), arguments: arguments)
        }
        switch start {
        case .ready, .ended(.exit(ExitStatus.resumable.rawValue)): return start
        case .ended:
            let said = (try? String(contentsOfFile: place.output, encoding: .utf8)) ?? ""
            let why = said.split(separator: "\n").last ?? "without a word, try “squall queue serve”"
            throw .failed("the queue's daemon ended at its start: \(why)")
        }
    }
}

extension QueueCall {
    /// Whether a queue is made for it that isn't there.
    fileprivate var makesQueue: Bool { if case .submit = self { true } else { false } }
}
