/// The limits of a queue.
public struct QueueLimits: Hashable, Sendable {
    /// The transfers that run at a time; 8 by default, at least 1.
    public var maximumRunning = 8
    /// The transfers that run at a time with one host; 4 by default, at least 1.
    public var maximumPerHost = 4
    /// The longest wait after the first failure, of which half is drawn; it doubles with each one in a row. 30 s by default.
    public var firstRetry: Duration = .seconds(30)
    /// The longest wait after a failure; 1 h by default.
    public var longestRetry: Duration = .seconds(3_600)

    /// The jobs that a queue has, finished ones included: 10,000.
    public static let maximumJobs = 10_000
    /// The size of a job in the log: 48 KiB.
    public static let maximumJobSize = 48 << 10
    /// The words of a command: 64.
    public static let maximumCommandWords = 64
    /// The bytes of a message that the log keeps, in JSON: 400.
    static let maximumMessage = 400
    /// How long a larger job lets smaller ones go first: 1 h.
    static let patience = Duration.seconds(3_600)
    /// The longest wait that a server can ask for: a day.
    static let longestServerWait = Duration.seconds(86_400)

    /// Makes the default limits.
    public init() {}

    /// The beginning of a message that the log keeps. In JSON a control character has up to six bytes.
    static func kept(_ message: String) -> String {
        var rest = maximumMessage
        return String(
            message.prefix { character in
                rest -= character.utf8.reduce(0) { $0 + ($1 < 0x20 ? 6 : [0x22, 0x5C].contains($1) ? 2 : 1) }
                return rest >= 0
            }
        )
    }
}

/// Why a call to a queue is refused.
package enum QueueProblem: Error, Hashable, Sendable {
    /// There is no such job.
    case noJob(QueueJobID)
    /// The job is in a phase in which the call has no meaning.
    case wrongPhase(QueueJobID, QueuePhase)
    /// Another job writes the same file, and hasn't ended.
    case duplicate(QueueJobID, file: String)
    /// The queue has as many jobs as it may have.
    case full
    /// The transfer is larger in the log than `QueueLimits.maximumJobSize`.
    case tooLarge
    /// The transfer isn't valid: the field, and why.
    case invalid(String, String)
}

extension QueueProblem: CustomStringConvertible {
    /// The problem and its remedy.
    package var description: String {
        switch self {
        case .noJob(let id): "there is no job \(id)"
        case .wrongPhase(let id, let phase): "job \(id) is \(phase)"
        case .duplicate(let id, let file): "job \(id) writes “\(file)” already: cancel it, or name another file"
        case .full: "the queue has \(QueueLimits.maximumJobs) jobs: remove finished ones"
        case .tooLarge:
            "the job has more than \(QueueLimits.maximumJobSize >> 10) KiB: shorten its headers or its command"
        case .invalid(let field, let why): "\(field): \(why)"
        }
    }
}
