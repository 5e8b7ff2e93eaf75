/// The number of a job in its queue: from 1, never used again.
public struct QueueJobID: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// The number.
    public let number: UInt64

    /// Makes an identifier from its number.
    public init(_ number: UInt64) { self.number = number }

    /// Reads an identifier.
    public init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(UInt64.self) }

    /// Writes the number.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }

    /// Whether `left` was submitted earlier.
    public static func < (left: QueueJobID, right: QueueJobID) -> Bool { left.number < right.number }

    /// The number in decimal.
    public var description: String { "\(number)" }
}

/// The state of a job, with its reason. Others may be added.
public struct QueuePhase: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// Makes a phase from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// Ready, and waiting for its turn.
    public static let queued = QueuePhase(rawValue: "queued")
    /// Waiting for something that the reason names.
    public static let waiting = QueuePhase(rawValue: "waiting")
    /// Transferring.
    public static let running = QueuePhase(rawValue: "running")
    /// Stopped until it is resumed.
    public static let paused = QueuePhase(rawValue: "paused")
    /// Complete.
    public static let completed = QueuePhase(rawValue: "completed")
    /// Failed for good; it can be resumed, with another URL.
    public static let failed = QueuePhase(rawValue: "failed")
    /// Cancelled.
    public static let cancelled = QueuePhase(rawValue: "cancelled")

    /// Whether nothing happens to the job any more.
    public var isFinal: Bool { [.completed, .failed, .cancelled].contains(self) }
}

/// Why a job waits or has failed. Others may be added.
public struct QueueReason: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// Makes a reason from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// Its earliest begin hasn't come.
    public static let earliestBegin = QueueReason(rawValue: "earliest-begin")
    /// Its window of the day is closed.
    public static let window = QueueReason(rawValue: "window")
    /// No route leads to its host.
    public static let network = QueueReason(rawValue: "network")
    /// The network is expensive.
    public static let expensive = QueueReason(rawValue: "expensive")
    /// The network is constrained.
    public static let constrained = QueueReason(rawValue: "constrained")
    /// It is discretionary, and another job runs or is ready.
    public static let busy = QueueReason(rawValue: "busy")
    /// It is discretionary, and the machine is on battery.
    public static let power = QueueReason(rawValue: "power")
    /// An attempt has failed; the next one follows.
    public static let retry = QueueReason(rawValue: "retry")
    /// The disk is full. It is tried again.
    public static let diskFull = QueueReason(rawValue: "disk-full")
    /// The folder or file is missing, or can't be written or read. It is tried again.
    public static let folder = QueueReason(rawValue: "folder")
    /// Another transfer has the file. It is tried again.
    public static let locked = QueueReason(rawValue: "locked")
    /// TLS can't be established, such as on a network with a login page. It is tried again.
    public static let tls = QueueReason(rawValue: "tls")
    /// The server refused the credentials, or asks for some. The job must be resumed.
    public static let credentials = QueueReason(rawValue: "credentials")
    /// A referenced secret can't be read, or was in memory only. The job must be resumed.
    public static let secret = QueueReason(rawValue: "secret")
    /// The server refused the URL, which may have expired. The job must be resumed.
    public static let url = QueueReason(rawValue: "url")
    /// The time limit of the transfer has passed.
    public static let timeLimit = QueueReason(rawValue: "time-limit")
    /// It failed as often as it may.
    public static let failures = QueueReason(rawValue: "failures")
    /// The server refused the request for good.
    public static let refused = QueueReason(rawValue: "refused")
    /// The file isn't the one that was expected.
    public static let digest = QueueReason(rawValue: "digest")
    /// The transfer can't be started: a wrong file or setting.
    public static let invalid = QueueReason(rawValue: "invalid")
}

/// The evidence of a complete transfer.
public struct QueueResult: Hashable, Sendable, Codable {
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file, 32 bytes.
    public var sha256: [UInt8]

    /// Makes a result.
    public init(bytes: Int64, sha256: [UInt8]) {
        self.bytes = bytes
        self.sha256 = sha256
    }
}

/// A change of a job that is kept until it was delivered.
public struct QueueEvent: Hashable, Sendable, Codable {
    /// The number, from 1; later events of a queue have larger ones.
    public var number: UInt64
    /// The job.
    public var job: QueueJobID
    /// The phase that the job came to: completed, failed, cancelled, or waiting.
    public var phase: QueuePhase
    /// Why it waits or has failed.
    public var reason: QueueReason?
    /// The reason in words.
    public var message: String?
    /// The evidence of a completed transfer.
    public var result: QueueResult?
}

/// A job as the log has it.
package struct QueueJob: Hashable, Sendable, Codable {
    /// What was decided about a job.
    package enum Stage: Hashable, Sendable, Codable {
        /// It is to run, as soon as nothing is in its way.
        case active
        /// It is to run again at a time.
        case retrying(QueueReason, String, at: QueueTime)
        /// It lacks what only its owner can give.
        case needing(QueueReason, String)
        case paused
        case completed(QueueResult)
        case failed(QueueReason, String)
        case cancelled
    }

    package let id: QueueJobID
    package var transfer: QueuedTransfer
    /// The host of the URL, for limits.
    package var host: String
    package let submittedAt: QueueTime
    /// When the time limit ends.
    package var deadline: QueueTime
    package var stage = Stage.active
    /// Whether a run has begun, so that a partial file may be the job's own.
    package var hasStarted = false
    /// Whether a run of an upload may have sent its content, which the log says before it is sent.
    package var mayBeSent: Bool?
    /// Failures in a row without progress.
    package var failures = 0
    /// The evidence of a transfer whose last step has begun: the file has it, or will have it without another request.
    package var proof: QueueResult?
    /// The latest event, until it was delivered.
    package var event: QueueEvent?
    /// The number of the event whose command hasn't ended yet.
    package var commandOwed: QueueEvent?

    /// The scheme and the host, which tell the proxy.
    package var origin: String {
        let scheme = transfer.url.lowercased().hasPrefix("https:") ? "https" : "http"
        return "\(scheme)://" + (host.contains(":") ? "[\(host)]" : host)
    }

    /// Whether the job may still transfer something.
    package var isActive: Bool {
        switch stage {
        case .active, .retrying, .needing: true
        case .paused, .completed, .failed, .cancelled: false
        }
    }

    /// Whether nothing happens to the job any more, and its owner knows.
    package var isDone: Bool { phase.isFinal && event == nil && commandOwed == nil }
}
