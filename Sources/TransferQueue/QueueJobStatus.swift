/// Where a job stands: a snapshot.
public struct QueueJobStatus: Hashable, Sendable, Codable {
    /// The job.
    public var id: QueueJobID
    /// What it transfers. The values of secret headers aren't in it.
    public var transfer: QueuedTransfer
    /// When it was submitted.
    public var submittedAt: QueueTime
    /// The phase.
    public var phase: QueuePhase
    /// Why it waits or has failed.
    public var reason: QueueReason?
    /// The reason in words.
    public var message: String?
    /// When a waiting job goes on by itself, if that is known.
    public var until: QueueTime?
    /// The bytes received by a download, or acknowledged by the server in an upload, as far as this process has seen.
    public var completedBytes: Int64 = 0
    /// The size; `nil` until known.
    public var totalBytes: Int64?
    /// The evidence of a completed job.
    public var result: QueueResult?

    init(_ job: QueueJob, _ position: QueuePosition?, _ progress: QueueProgress?) {
        id = job.id
        transfer = job.transfer
        submittedAt = job.submittedAt
        // A job that has ended stands nowhere else any more.
        let position = position.flatMap { job.phase.isFinal ? nil : $0 } ?? QueuePosition(job)
        phase = position.phase
        reason = position.reason
        message = position.message
        until = position.until
        completedBytes = progress?.completed ?? 0
        totalBytes = progress?.total
        result = job.result
        if let result { (completedBytes, totalBytes) = (result.bytes, result.bytes) }
    }
}

/// The progress of a run.
struct QueueProgress: Hashable, Sendable {
    var completed: Int64 = 0
    var total: Int64?
}
