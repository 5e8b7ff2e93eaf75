public import FoundationEssentials
package import TransferClient

/// Why a transfer failed.
///
/// The code is stable and for programs; the message is for people.
public struct TransferError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// A kind of failure. Others may be added.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let rawValue: String
        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// The URL is invalid.
        public static let invalidURL = Code(.invalidURL)
        /// Something else in the request is invalid.
        public static let invalidRequest = Code(.invalidRequest)
        /// The TLS settings are invalid.
        public static let invalidTLSSettings = Code(.invalidTLSSettings)
        /// The destination can't be written, or the source can't be read.
        public static let invalidFile = Code(.invalidFile)
        /// The token is invalid.
        public static let invalidToken = Code(rawValue: "invalid-token")
        /// The server can't be verified, or rejects the client.
        public static let tlsRefused = Code(.tlsRefused)
        /// Another transfer, in any process, has the file locked.
        public static let locked = Code(.locked)
        /// A file system call failed; `systemError` has the error number.
        public static let fileSystem = Code(.fileSystem)
        /// The server refused; `status` has its response status, if any. There is a token if it may still have an
        /// unfinished upload.
        public static let refused = Code(.refused)
        /// The server requires other credentials; `status` is 401 or 407.
        public static let unauthorized = Code(.unauthorized)
        /// An invalid redirect, or too many.
        public static let redirection = Code(.redirection)
        /// Too many consecutive failures, or the deadline would pass.
        public static let gaveUp = Code(.gaveUp)
        /// A download restarted too often.
        public static let tooManyRestarts = Code(.tooManyRestarts)
        /// The received bytes don't match the digest.
        public static let digestMismatch = Code(.digestMismatch)
        /// A complete download is unverified, and the request requires proof.
        public static let unproved = Code(.unproved)
        /// The file changed during the upload.
        public static let fileChanged = Code(.fileChanged)
        /// The uploaded stream threw an error.
        public static let streamFailed = Code(.streamFailed)
        /// The connection failed in `data` or `bytes`, which don't retry.
        public static let connectionFailed = Code(rawValue: "connection-failed")
        /// A body exceeds the maximum of `data`, a line that of `lines`, or a stream that of an upload.
        public static let tooLong = Code(.tooLong)
        /// The transfer was cancelled or paused.
        public static let cancelled = Code(.cancelled)
    }

    /// The kind of failure.
    public var code: Code
    /// A description for people. May change.
    public var message: String
    /// The status of the response that ended the transfer, if any.
    public var status: Int?
    /// The error number of a failed system call (errno(3)), if any.
    public var systemError: Int32?
    /// Resumes the transfer, possibly from the first byte, see `resumability`; `nil` if it can't be resumed, see `obstacle`.
    public var token: ResumptionToken?
    /// Why there is no token; `nil` if there is one.
    public var obstacle: ResumptionObstacle?

    /// The engine's error.
    package var cause: TransferClient.TransferError?
    /// What a token continues from.
    var progress = Resumability.unknown
    /// Whether the token continues the transfer where it was, and if not, why.
    public var resumability: Resumability { token == nil ? .impossible(obstacle ?? .finalFailure) : progress }

    /// Makes an error, for tests.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - message: A description.
    ///   - status: The status of the response.
    public init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
        obstacle = .wrongInput
    }

    static func invalidRequest(_ message: String) -> TransferError { TransferError(.invalidRequest, message) }

    /// Whether the transfer can be resumed.
    public var isResumable: Bool { token != nil }

    /// The message.
    public var errorDescription: String? { message }
    /// The message, followed by the code.
    public var description: String { "\(message) (\(code.rawValue))" }
}
