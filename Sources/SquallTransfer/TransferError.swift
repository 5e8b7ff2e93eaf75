internal import TransferClient

/// Why a transfer failed.
///
/// The code tells programs what kind of failure it is, and stays the same; the message tells people.
public struct TransferError: Error, Sendable, CustomStringConvertible {
    /// A kind of failure. Others may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let rawValue: String
        /// Makes a code of its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// The URL can't be used.
        public static let invalidURL = Code(.invalidURL)
        /// Something else in the request can't be used.
        public static let invalidRequest = Code(.invalidRequest)
        /// The settings for TLS can't be used.
        public static let invalidTLSSettings = Code(.invalidTLSSettings)
        /// The destination file can't be written, or the file to be sent can't be read.
        public static let invalidFile = Code(.invalidFile)
        /// The token can't be used.
        public static let invalidToken = Code(rawValue: "invalid-token")
        /// The server can't be trusted, or doesn't trust the client.
        public static let tlsRefused = Code(.tlsRefused)
        /// Another transfer, in this process or another, has the file.
        public static let locked = Code(.locked)
        /// A call to the file system failed; `systemError` tells how.
        public static let fileSystem = Code(.fileSystem)
        /// The server refused, and would again; `status` has its status, if it is that.
        public static let refused = Code(.refused)
        /// The server wants other credentials than it was shown; `status` is 401 or 407.
        public static let unauthorized = Code(.unauthorized)
        /// A redirection can't be followed, or there are too many.
        public static let redirection = Code(.redirection)
        /// Too many attempts in a row failed, or the deadline would be missed.
        public static let gaveUp = Code(.gaveUp)
        /// A download started over too often.
        public static let tooManyRestarts = Code(.tooManyRestarts)
        /// What arrived isn't what was sent, by its digest.
        public static let digestMismatch = Code(.digestMismatch)
        /// A complete download isn't proved, and the request demands that.
        public static let unproved = Code(.unproved)
        /// The file was changed while it was uploaded.
        public static let fileChanged = Code(.fileChanged)
        /// The stream that was to be uploaded threw an error.
        public static let streamFailed = Code(.streamFailed)
        /// The connection failed; of `data` and `bytes`, which don't retry it.
        public static let connectionFailed = Code(rawValue: "connection-failed")
        /// A body has more bytes than `data` takes, or a stream more than an upload takes.
        public static let tooLong = Code(.tooLong)
        /// The transfer was cancelled or paused.
        public static let cancelled = Code(.cancelled)
    }

    /// The kind of failure.
    public var code: Code
    /// What failed, and where, for people. Its words may change.
    public var message: String
    /// The status of the response that ended it, if one did.
    public var status: Int?
    /// The number of the error that a call to the system returned (errno(3)), if one did.
    public var systemError: Int32?
    /// What continues the transfer; `nil` where nothing does, which `obstacle` explains.
    public var token: ResumptionToken?
    /// Why there is no token; `nil` where there is one.
    public var obstacle: ResumptionObstacle?

    init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
        obstacle = .wrongInput
    }

    static func invalidRequest(_ message: String) -> TransferError { TransferError(.invalidRequest, message) }

    /// Whether the same transfer can go on where it stopped.
    public var isResumable: Bool { token != nil }

    /// The message, with the code behind it.
    public var description: String { "\(message) (\(code.rawValue))" }
}

/// Why a transfer can't be continued. Others may be added.
public struct ResumptionObstacle: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// Makes a reason of its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// The call itself was wrong: nothing was begun.
    public static let wrongInput = ResumptionObstacle(rawValue: "wrong-input")
    /// The same request fails again, unless something is changed.
    public static let finalFailure = ResumptionObstacle(rawValue: "final-failure")
    /// The transfer keeps nothing: `data` and `bytes`, those of an ephemeral session, and an upload that was still reading its
    /// stream.
    public static let nothingKept = ResumptionObstacle(rawValue: "nothing-kept")
}
