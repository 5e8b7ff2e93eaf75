import TransferProtocol

/// A kind of transfer failure, for programs. Raw values are stable; others may be added.
public enum TransferFailureCode: String, CaseIterable, Hashable, Sendable {
    /// The URL is invalid.
    case invalidURL = "invalid-url"
    /// Something else in the request is invalid.
    case invalidRequest = "invalid-request"
    /// The TLS settings are invalid.
    case invalidTLSSettings = "invalid-tls-settings"
    /// The destination can't be written, or the source can't be read.
    case invalidFile = "invalid-file"
    /// The server can't be verified, or rejects the client.
    case tlsRefused = "tls-refused"
    /// Another transfer has the file locked.
    case locked
    /// A file system call failed.
    case fileSystem = "file-system"
    /// The server refused permanently.
    case refused
    /// The server requires other credentials.
    case unauthorized
    /// An invalid redirect, or too many.
    case redirection
    /// Too many consecutive failures, or the deadline would pass.
    case gaveUp = "gave-up"
    /// A download restarted too often.
    case tooManyRestarts = "too-many-restarts"
    /// The received bytes don't match the digest.
    case digestMismatch = "digest-mismatch"
    /// A complete download is unverified, and the request requires proof.
    case unproved
    /// The file changed during the upload.
    case fileChanged = "file-changed"
    /// The uploaded stream threw an error.
    case streamFailed = "stream-failed"
    /// The stream exceeds the maximum size.
    case tooLong = "too-long"
    /// The transfer was cancelled.
    case cancelled
}

extension DownloadError {
    /// The kind of failure.
    public var code: TransferFailureCode {
        switch self {
        case .invalidURL: .invalidURL
        case .invalidTLSSettings: .invalidTLSSettings
        case .tlsRefused: .tlsRefused
        case .invalidDestination: .invalidFile
        case .invalidDigest, .invalidProxy: .invalidRequest
        case .locked: .locked
        case .fileSystem: .fileSystem
        case .refused(.unauthorized): .unauthorized
        case .refused(.redirectWithoutLocation), .tooManyRedirections, .invalidRedirection: .redirection
        case .refused: .refused
        case .gaveUp: .gaveUp
        case .tooManyRestarts: .tooManyRestarts
        case .digestMismatch, .digestMissing: .digestMismatch
        case .unproved: .unproved
        case .cancelled: .cancelled
        }
    }

    /// The status of the response that ended the download, if any.
    public var status: Int? {
        switch self {
        case .refused(.status(let status)), .refused(.otherProtocol(let status, _)),
            .refused(.redirectWithoutLocation(let status)):
            status
        case .refused(.unauthorized(let challenge, _)): challenge.isFromProxy ? 407 : 401
        default: nil
        }
    }

    /// Whether the same download can be resumed, as it is or with other credentials.
    public var isResumable: Bool { disposition == .resumable || code == .unauthorized }
}

extension UploadError {
    /// The kind of failure.
    public var code: TransferFailureCode {
        switch self {
        case .invalidURL: .invalidURL
        case .invalidTLSSettings: .invalidTLSSettings
        case .tlsRefused: .tlsRefused
        case .invalidSource: .invalidFile
        case .invalidDigest, .digestDiffers, .invalidProxy: .invalidRequest
        case .streamFailed: .streamFailed
        case .streamTooLong: .tooLong
        case .locked: .locked
        case .fileSystem: .fileSystem
        case .sourceChanged: .fileChanged
        case .refused(.accessRefused): .unauthorized
        case .refused(.redirection): .redirection
        case .refused: .refused
        case .gaveUp: .gaveUp
        case .digestMismatch: .digestMismatch
        case .cancelled: .cancelled
        }
    }

    /// The status of the response that ended the upload, if any.
    public var status: Int? {
        switch self {
        case .refused(.refused(let status)), .refused(.otherProtocol(let status, _)),
            .refused(.respondedEarly(let status)),
            .refused(.redirection(let status)):
            status
        case .refused(.accessRefused(let challenge, _)): challenge.isFromProxy ? 407 : 401
        default: nil
        }
    }

    /// Whether the same upload can be resumed, as it is or with other credentials.
    public var isResumable: Bool { disposition == .resumable || code == .unauthorized }
}

extension TransientDownloadFailure {
    /// The stable code in JSON events.
    public var code: String {
        switch self {
        case .connectFailed: "connect-failed"
        case .unreachable: "unreachable"
        case .connectTimedOut: "connect-timed-out"
        case .connectionLost: "connection-lost"
        case .firstByteTimedOut: "response-timed-out"
        case .stalled: "stalled"
        case .deadlineExceeded: "out-of-time"
        case .malformedResponse: "malformed-response"
        case .status: "status"
        case .rejected: "response-rejected"
        case .bodyTooShort: "body-too-short"
        case .partialOnly: "part-only"
        case .representationChanged: "representation-changed"
        case .differentURL: "different-url"
        case .completenessUnknown: "completeness-unknown"
        case .receivedBytesDamaged: "held-bytes-damaged"
        }
    }
}

extension TransientUploadFailure {
    /// The stable code in JSON events.
    public var code: String {
        switch self {
        case .transport(let cause): cause.code
        case .status: "status"
        case .noOffset: "no-offset"
        case .noProgress: "no-progress"
        case .uploadGone: "upload-gone"
        case .uploadExpired: "upload-expired"
        case .smallerRequests: "smaller-requests"
        case .differentDialect: "other-dialect"
        }
    }
}

extension DownloadRestartReason {
    /// The stable code in JSON events.
    public var code: String {
        switch self {
        case .representationChanged: "representation-changed"
        case .rangeIgnored: "range-ignored"
        case .rangeUnusable: "range-unusable"
        case .digestMismatch: "digest-mismatch"
        case .journalUnusable: "journal-unusable"
        case .differentURL: "different-url"
        }
    }
}

extension UploadRestartReason {
    /// The stable code in JSON events.
    public var code: String {
        switch self {
        case .uploadGone: "upload-gone"
        case .sourceChanged: "source-changed"
        case .differentDialect: "other-dialect"
        }
    }
}
