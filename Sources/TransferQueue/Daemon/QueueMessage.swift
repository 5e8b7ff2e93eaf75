/// What a client of the daemon asks for: one line of JSON on a connection of its own.
package enum QueueCall: Codable, Sendable {
    case submit(QueuedTransfer, secrets: [String: String])
    /// One job, or all.
    case status(QueueJobID?)
    /// The current status of one job or all, `upToDate`, and each change from then on.
    case attach(QueueJobID?)
    /// The events, one for each further line of the client, which marks the one before as delivered.
    case events
    case pause(QueueJobID)
    case resume(QueueJobID, QueueChange, secrets: [String: String])
    case cancel(QueueJobID)
    case prioritize(QueueJobID, Int)
    /// With those whose events weren't delivered, or without.
    case prune(undelivered: Bool)
}

/// What the daemon answers: lines of JSON; the last one is `done` or `failed`.
package enum QueueAnswer: Codable, Sendable {
    case submitted(QueueJobID)
    case job(QueueJobStatus)
    /// A job was forgotten.
    case removed(QueueJobID)
    /// All jobs that there were at the beginning have been sent.
    case upToDate
    case event(QueueEvent)
    case allDelivered
    case pruned(Int)
    case done
    case failed(code: String, message: String)
}

extension QueueAnswer {
    /// The job of a change.
    var job: QueueJobID? {
        switch self {
        case .job(let status): status.id
        case .removed(let id): id
        case .submitted, .upToDate, .event, .allDelivered, .pruned, .done, .failed: nil
        }
    }
}

/// The protocol's version, and the sizes of its lines.
package enum QueueProtocol {
    /// The version, in the first line of each side.
    private static let version = 2
    /// The first line of the daemon and of a client.
    package static let greeting = "squall-queue \(version)"
    /// The largest line: 1 MiB, more than a job in JSON.
    static let maximumLine = 1 << 20
}
