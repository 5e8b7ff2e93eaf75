import FoundationEssentials
import OperatingSystem
import ProfileFiles
import SystemPackage
import TerminalDisplay
import TransferQueue

/// A client of the daemon, which it starts if none runs.
struct QueueClient {
    let place: QueuePlace

    /// How often a client tries to reach a daemon while an earlier one ends, or another client starts one: about 15 s with the
    /// pauses, which double from 50 ms up to 1 s.
    private static let tries = 20

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
        var pause = Duration.milliseconds(50)
        for _ in 0..<Self.tries {
            do {
                if let connection = try await place.socket.connect() {
                    try await place.socket.call(call, on: connection) { answer, _ in try await receive(answer) }
                    return true
                }
                guard starts else { return false }
                if case .ready(let process) = try started(["queue", "serve", "--name", place.name]) {
                    Console.warn("started the queue's daemon, process \(process), which ends when it is idle")
                    continue
                }
            } catch is QueueSocket.Unasked {
                // The daemon ends.
            } catch let error as TransferQueueError {
                throw Self.failure(error)
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
        }
        throw CommandFailure.failed(
            "another process has the queue \(place.name.quoted) and doesn't answer at “\(place.socket.path)”: end it, or see "
                + "“squall queue logs”"
        )
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
            let ended = "the queue's daemon ended at its start:"
            if let why = said.split(separator: "\n").last { throw .failed("\(ended) \(why)") }
            // A disk that is full has no room for the message either.
            try CommandFailure.attempting("\(ended) can't write “\(place.output)”") {
                let output = try FileDescriptor.open(FilePath(place.output), .writeOnly, options: .append)
                try output.closeAfter { _ = try output.writeAll("\n".utf8) }
            }
            throw .failed("\(ended) it said nothing; run “squall queue serve” to see why")
        }
    }
}

extension QueueCall {
    /// Whether a queue is made for it that isn't there.
    fileprivate var makesQueue: Bool { if case .submit = self { true } else { false } }
}
