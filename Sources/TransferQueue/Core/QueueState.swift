internal import Units

/// The jobs of a queue, and what becomes of them.
///
/// A decision returns the job as it is to be, and changes nothing: the caller writes it to the log first, and then calls
/// `put`.
package struct QueueState: Sendable {
    /// The jobs by number.
    package private(set) var jobs: [QueueJobID: QueueJob] = [:]
    /// The limits.
    package var limits: QueueLimits
    /// The number of the next job, and that of the next event.
    package private(set) var next = QueueNumbers()

    /// Makes an empty queue.
    package init(limits: QueueLimits = QueueLimits()) { self.limits = limits }

    /// Takes over a job as it is in the log.
    package mutating func put(_ job: QueueJob) {
        jobs[job.id] = job
        next.job = max(next.job, job.id.number + 1)
        for event in [job.event, job.commandOwed] {
            if let event { next.event = max(next.event, event.number + 1) }
        }
    }

    /// Forgets a job.
    package mutating func remove(_ id: QueueJobID) { jobs[id] = nil }

    /// Takes over the next numbers, where they are larger.
    package mutating func advance(to numbers: QueueNumbers) {
        next.job = max(next.job, numbers.job)
        next.event = max(next.event, numbers.event)
    }

    // MARK: Decisions of the owner

    /// A new job.
    package func submitted(
        _ transfer: QueuedTransfer,
        host: String,
        at now: QueueTime
    ) throws(QueueProblem) -> QueueJob {
        guard jobs.count < QueueLimits.maximumJobs else { throw .full }
        if transfer.direction == .download { try checkFree(transfer.file, except: nil) }
        return QueueJob(
            id: QueueJobID(next.job),
            transfer: transfer,
            host: host,
            submittedAt: now,
            deadline: max(now, transfer.earliestBegin ?? now) + transfer.timeLimit
        )
    }

    private func checkFree(_ file: String, except id: QueueJobID?) throws(QueueProblem) {
        let other = jobs.values.first { job in
            guard job.transfer.direction == .download, job.transfer.file == file, job.id != id else { return false }
            return job.isActive || job.stage == .paused
        }
        if let other { throw .duplicate(other.id, file: file) }
    }

    /// The job, stopped until it is resumed.
    package func paused(_ id: QueueJobID) throws(QueueProblem) -> QueueJob {
        var job = try job(id)
        guard job.isActive else { throw .wrongPhase(id, job.phase) }
        job.stage = .paused
        return job
    }

    /// The job, tried again now, with what `change` gives it and a new time limit. Also for one that has failed.
    ///
    /// - Parameters:
    ///   - host: The host of the job's URL after the change.
    ///   - leavesOrigin: Whether that URL has another origin.
    package func resumed(
        _ id: QueueJobID,
        _ change: QueueChange,
        host: String,
        leavesOrigin: Bool = false,
        at now: QueueTime
    ) throws(QueueProblem) -> QueueJob {
        var job = try job(id)
        switch job.stage {
        case .completed, .cancelled: throw .wrongPhase(id, job.phase)
        case .failed:
            job.mayBeSent = nil
            if job.transfer.direction == .download { try checkFree(job.transfer.file, except: id) }
        case .active, .retrying, .needing, .paused: break
        }
        job.transfer = change.applied(to: job.transfer, leavesOrigin: leavesOrigin)
        job.host = host
        job.stage = .active
        job.failures = 0
        job.deadline = max(now, job.transfer.earliestBegin ?? now) + job.transfer.timeLimit
        return job
    }

    /// The job, ended for good.
    package func cancelled(_ id: QueueJobID) throws(QueueProblem) -> QueueJob {
        var job = try job(id)
        guard job.isActive || job.stage == .paused else { throw .wrongPhase(id, job.phase) }
        job.stage = .cancelled
        return raising(job)
    }

    /// The job with another priority.
    package func prioritized(_ id: QueueJobID, _ priority: Int) throws(QueueProblem) -> QueueJob {
        var job = try job(id)
        guard job.isActive || job.stage == .paused else { throw .wrongPhase(id, job.phase) }
        job.transfer.priority = priority
        return job
    }

    /// The job whose event was delivered; `nil` if it has a newer one, or none.
    package func delivered(_ event: QueueEvent) -> QueueJob? {
        guard var job = jobs[event.job], job.event?.number == event.number else { return nil }
        job.event = nil
        return job
    }

    /// The job whose command has ended; `nil` if a newer one is owed.
    package func commandEnded(_ event: QueueEvent) -> QueueJob? {
        guard var job = jobs[event.job], job.commandOwed?.number == event.number else { return nil }
        job.commandOwed = nil
        return job
    }

    private func job(_ id: QueueJobID) throws(QueueProblem) -> QueueJob {
        guard let job = jobs[id] else { throw .noJob(id) }
        return job
    }

    // MARK: Decisions about a run

    /// The job whose run begins; `nil` if the log says so already.
    package func started(_ id: QueueJobID) -> QueueJob? {
        guard var job = jobs[id] else { return nil }
        job.hasStarted = true
        if job.transfer.direction == .upload { job.mayBeSent = true }
        return job == jobs[id] ? nil : job
    }

    /// The cancelled job whose partial file was removed.
    package func discarded(_ id: QueueJobID) -> QueueJob? {
        guard var job = jobs[id], job.stage == .cancelled else { return nil }
        job.hasStarted = false
        return job
    }

    /// The job whose file is complete but for the last step; `nil` if it has ended meanwhile.
    package func finishing(_ id: QueueJobID, _ proof: QueueResult) -> QueueJob? {
        guard var job = jobs[id], job.isActive || job.stage == .paused else { return nil }
        job.proof = proof
        return job
    }

    /// The job after a run; `nil` if nothing is to be written.
    ///
    /// - Parameters:
    ///   - wasSent: Whether the content may have been sent before the run. That is known until a failed job is resumed.
    ///   - fraction: A random number from 0 up to 1, for the wait.
    package func ended(
        _ id: QueueJobID,
        _ outcome: QueueOutcome,
        wasSent: Bool = false,
        at now: QueueTime,
        fraction: Double
    ) -> QueueJob? {
        guard var job = jobs[id] else { return nil }
        // A completed file is complete, whatever was said meanwhile, but for a cancelled job, whose owner knows.
        guard job.isActive || job.stage == .paused else { return nil }
        if case .completed(let result) = outcome {
            job.stage = .completed(result)
            return raising(job)
        }
        if outcome.mayBeRepeated, !wasSent { job.mayBeSent = nil }
        guard job.isActive else { return job == jobs[id] ? nil : job }
        switch outcome {
        case .completed: return nil
        case .stopped(let hasProgressed, _):
            if hasProgressed { job.failures = 0 }
            return job == jobs[id] ? nil : job
        case .failed(let reason, let message): return failed(job, reason, message)
        case .needs(let reason, let message):
            job.stage = .needing(reason, QueueLimits.kept(message))
            return raising(job)
        case .retry(let reason, let message, let hasProgressed, let atLeast, _):
            job.failures = hasProgressed ? 1 : job.failures + 1
            if let most = job.transfer.maximumFailures, job.failures >= max(1, most) {
                return failed(job, .failures, message)
            }
            let wait = max(retryDelay(after: job.failures, fraction), min(atLeast, QueueLimits.longestServerWait))
            let earlier = job.reason
            job.stage = .retrying(reason, QueueLimits.kept(message), at: now + wait)
            let isNews = [.diskFull, .folder].contains(reason) && (earlier != reason || hasProgressed)
            return isNews ? raising(job) : job
        }
    }

    /// The job whose time limit has passed.
    package func expired(_ id: QueueJobID) -> QueueJob? {
        guard let job = jobs[id], job.isActive else { return nil }
        let last = job.message.map { "; the last time it waited because \($0)" } ?? ""
        return failed(job, .timeLimit, "the time limit of the transfer has passed\(last)")
    }

    private func failed(_ job: QueueJob, _ reason: QueueReason, _ message: String) -> QueueJob {
        var job = job
        job.stage = .failed(reason, QueueLimits.kept(message))
        return raising(job)
    }

    /// The wait after a number of failures in a row. It doubles with each failure up to the longest wait, and is drawn
    /// between half of that and all of it.
    private func retryDelay(after failures: Int, _ fraction: Double) -> Duration {
        let first = max(1, limits.firstRetry.wholeMilliseconds)
        let longest = max(1, limits.longestRetry.wholeMilliseconds)
        let factor = Int64(1) << Int64(min(max(0, failures - 1), 30))
        let (product, isOver) = first.multipliedReportingOverflow(by: factor)
        let bound = isOver ? longest : min(product, longest)
        return .milliseconds(bound - Int64(Double(bound) / 2 * fraction))
    }

    /// The job with the event of its stage.
    private func raising(_ job: QueueJob) -> QueueJob {
        var job = job
        let event = QueueEvent(
            number: next.event,
            job: job.id,
            phase: job.phase,
            reason: job.reason,
            message: job.message,
            result: job.result
        )
        job.event = event
        if !job.transfer.command.isEmpty { job.commandOwed = event }
        return job
    }
}

/// The next numbers of a queue.
package struct QueueNumbers: Hashable, Sendable, Codable {
    /// Of a job.
    package var job: UInt64 = 1
    /// Of an event.
    package var event: UInt64 = 1
}

/// How a run of a transfer ended.
package enum QueueOutcome: Hashable, Sendable {
    /// The file is complete.
    case completed(QueueResult)
    /// It was stopped by the queue.
    case stopped(hasProgressed: Bool, mayBeRepeated: Bool = true)
    /// It failed for now.
    case retry(QueueReason, String, hasProgressed: Bool, atLeast: Duration = .zero, mayBeRepeated: Bool = true)
    /// It lacks what only its owner can give.
    case needs(QueueReason, String)
    /// It failed for good.
    case failed(QueueReason, String)

    /// Whether the same request can be sent again: nothing was sent, or the engine says that it does no harm.
    var mayBeRepeated: Bool {
        switch self {
        case .stopped(_, let mayBeRepeated), .retry(_, _, _, _, let mayBeRepeated): mayBeRepeated
        case .needs: true
        case .completed, .failed: false
        }
    }
}

/// What a resumed job gets.
public struct QueueChange: Hashable, Sendable, Codable {
    /// Another URL, such as for an expired one. One of another origin doesn't get the job's headers, which may be secret: those that
    /// it needs are in `headers`.
    public var url: String?
    /// Fields that replace those of the same names, or are added.
    public var headers: [QueueHeader] = []
    /// The path of a `.netrc` file.
    public var netrc: String?

    /// Makes a change of nothing.
    public init() {}

    func applied(to transfer: QueuedTransfer, leavesOrigin: Bool) -> QueuedTransfer {
        var transfer = transfer
        if leavesOrigin {
            transfer.headers.removeAll { !QueueHeader.openNames.contains($0.name.lowercased()) }
        }
        if let url { transfer.url = url }
        if let netrc { transfer.netrc = netrc }
        let names = Set(headers.map { $0.name.lowercased() })
        if !names.isEmpty {
            transfer.headers = transfer.headers.filter { !names.contains($0.name.lowercased()) } + headers
        }
        return transfer
    }
}

extension QueueJob {
    /// The phase of a job that doesn't run, apart from what is in its way.
    var phase: QueuePhase {
        switch stage {
        case .active: .queued
        case .retrying, .needing: .waiting
        case .paused: .paused
        case .completed: .completed
        case .failed: .failed
        case .cancelled: .cancelled
        }
    }

    var result: QueueResult? { if case .completed(let result) = stage { result } else { nil } }

    var reason: QueueReason? {
        switch stage {
        case .retrying(let reason, _, _), .needing(let reason, _), .failed(let reason, _): reason
        case .active, .paused, .completed, .cancelled: nil
        }
    }

    var message: String? {
        switch stage {
        case .retrying(_, let message, _), .needing(_, let message), .failed(_, let message): message
        case .active, .paused, .completed, .cancelled: nil
        }
    }
}
