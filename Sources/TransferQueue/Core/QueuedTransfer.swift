internal import Units

/// A transfer for a queue: what to transfer, when, and over which network.
///
/// The queue writes it to its log, so it has no secret but the URL. Values of secret headers are named by reference, or
/// are kept in memory only.
public struct QueuedTransfer: Hashable, Sendable, Codable {
    /// The direction of a transfer.
    public enum Direction: String, Hashable, Sendable, Codable {
        /// From the server to the file.
        case download
        /// From the file to the server.
        case upload
    }

    /// The direction.
    public var direction: Direction
    /// An absolute `http` or `https` URL without user information. A signed URL is a secret that the log has.
    public var url: String
    /// The absolute path of the file.
    public var file: String
    /// The method of an upload; `nil` for PUT.
    public var method: String?
    /// The media type of an upload; `nil` for `application/octet-stream`.
    public var contentType: String?
    /// Whether repeating an upload is harmless although its method isn't idempotent. Without it, one that was stopped after it
    /// began to send, and can't be resumed, fails with the reason `refused`.
    public var isRepeatable = false
    /// The SHA-256 that the file must have, 32 bytes.
    public var sha256: [UInt8]?
    /// Whether an unverified complete download is a failure.
    public var requiresProof = false
    /// Additional fields of every request, sent only to the origin of `url`.
    public var headers: [QueueHeader] = []
    /// The path of a `.netrc` file, read at each start of the transfer.
    public var netrc: String?

    /// Jobs of a higher priority start first; from -100 to 100.
    public var priority = 0
    /// Whether the transfer may wait for a good time: it runs alone, on mains power, and is stopped when another job is
    /// ready.
    public var isDiscretionary = false
    /// The part of the day in which the transfer may run.
    public var window: DailyWindow?
    /// The time before which the transfer doesn't start.
    public var earliestBegin: QueueTime?
    /// The bytes that the transfer is expected to send. Of jobs with one priority, those with fewer bytes start first.
    public var expectedBytesToSend: Int64?
    /// The bytes that the transfer is expected to receive, for the order like `expectedBytesToSend`.
    public var expectedBytesToReceive: Int64?
    /// Whether an expensive network may be used.
    public var allowsExpensive = true
    /// Whether a constrained network may be used.
    public var allowsConstrained = true
    /// The time limit of the whole transfer, from its earliest begin; 7 days by default.
    public var timeLimit: Duration = .seconds(7 * 86_400)
    /// The time limit of a request without progress: for the response, and below 1 KiB/s; 60 s by default.
    public var requestTimeLimit: Duration = .seconds(60)
    /// How often the transfer may fail in a row without progress; `nil`, the default, for no limit.
    public var maximumFailures: Int?
    /// The maximum rate of content in bytes per second; `nil` for no limit.
    public var maximumRate: Int64?
    /// The program, with its arguments, that is run for each event of the job; empty for none.
    public var command: [String] = []

    /// Makes a transfer.
    ///
    /// - Parameters:
    ///   - direction: The direction.
    ///   - url: The URL.
    ///   - file: The absolute path of the file.
    public init(_ direction: Direction, url: String, file: String) {
        self.direction = direction
        self.url = url
        self.file = file
    }

    /// Makes a download.
    ///
    /// - Parameters:
    ///   - url: The URL.
    ///   - file: The absolute path of the destination; its folder must exist when the transfer starts.
    public static func download(_ url: String, to file: String) -> QueuedTransfer {
        QueuedTransfer(.download, url: url, file: file)
    }

    /// Makes an upload.
    ///
    /// - Parameters:
    ///   - file: The absolute path of a regular file, which must not change while it is queued.
    ///   - url: The URL.
    public static func upload(_ file: String, to url: String) -> QueuedTransfer {
        QueuedTransfer(.upload, url: url, file: file)
    }

    /// The method of an upload: PUT where none is given.
    var uploadMethod: String { method ?? "PUT" }

    /// The bytes expected in both directions; `nil` without an expectation.
    var expectedBytes: Int64? {
        guard expectedBytesToSend != nil || expectedBytesToReceive != nil else { return nil }
        return max(0, expectedBytesToSend ?? 0).addingSaturated(max(0, expectedBytesToReceive ?? 0))
    }
}

/// A header field of a queued transfer. Never printed with its value.
public struct QueueHeader: Hashable, Sendable, Codable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Where the value is.
    public enum Value: Hashable, Sendable, Codable {
        /// In the log, for fields that are no secret: Accept, Accept-Language, User-Agent.
        case plain(String)
        /// The first line of a file, read at each start of the transfer.
        case file(String)
        /// An environment variable of the process that runs the queue.
        case environment(String)
        /// In the memory of the process that runs the queue, one field of a name. After its end the job waits with the reason
        /// `secret`.
        case memory
    }

    /// The name, in any case.
    public var name: String
    /// Where the value is.
    public var value: Value

    /// Makes a field.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }

    /// The name.
    public var description: String { "\(name): (confidential)" }
    /// The name.
    public var debugDescription: String { description }
    /// No children, so that dumps don't show the value.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The names, in lower case, of fields whose values may be in the log.
    static let openNames: Set<String> = ["accept", "accept-language", "user-agent"]
}
