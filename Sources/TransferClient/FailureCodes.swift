import TransferProtocol

/// A kind of failure of a transfer, for programs. The raw values stay the same; others may be added.
public enum TransferFailureCode: String, CaseIterable, Hashable, Sendable {
    /// The URL can't be used.
    case invalidURL = "invalid-url"
    /// Something else in the request can't be used.
    case invalidRequest = "invalid-request"
    /// The settings for TLS can't be used.
    case invalidTLSSettings = "invalid-tls-settings"
    /// The file to be can't be written, or the file to be sent can't be read.
    case invalidFile = "invalid-file"
    /// The server can't be trusted, or doesn't trust the client.
    case tlsRefused = "tls-refused"
    /// Another transfer has the file.
    case locked
    /// A call to the file system failed.
    case fileSystem = "file-system"
    /// The server refused, and would again.
    case refused
    /// The server wants other credentials than it was shown.
    case unauthorized
    /// A redirection can't be followed, or there are too many.
    case redirection
    /// Too many attempts in a row failed, or the deadline would be missed.
    case gaveUp = "gave-up"
    /// A download started over too often.
    case tooManyRestarts = "too-many-restarts"
    /// What arrived isn't what was sent, by its digest.
    case digestMismatch = "digest-mismatch"
    /// A complete download isn't proved, and the request demands that.
    case unproved
    /// The file was changed while it was uploaded.
    case fileChanged = "file-changed"
    /// The stream that was to be uploaded threw an error.
    case streamFailed = "stream-failed"
    /// A stream has more bytes than an upload takes.
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
        case .invalidDigest: .invalidRequest
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

    /// The status of the response that ended the download, if one did.
    public var status: Int? {
        switch self {
        case .refused(.status(let status)), .refused(.redirectWithoutLocation(let status)): status
        case .refused(.unauthorized(let challenge, _)): challenge.isFromProxy ? 407 : 401
        default: nil
        }
    }

    /// Whether the same download goes on where this one stopped: as it is, or with other credentials.
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
        case .invalidDigest, .digestDiffers: .invalidRequest
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

    /// The status of the response that ended the upload, if one did.
    public var status: Int? {
        switch self {
        case .refused(.refused(let status)), .refused(.answeredEarly(let status)),
            .refused(.redirection(let status)):
            status
        case .refused(.accessRefused(let challenge, _)): challenge.isFromProxy ? 407 : 401
        default: nil
        }
    }

    /// Whether the same upload goes on where this one stopped: as it is, or with other credentials.
    public var isResumable: Bool { disposition == .resumable || code == .unauthorized }
}

extension DownloadSetback {
    /// The kind of setback, in JSON events. It stays the same.
    public var code: String {
        switch self {
        case .connectFailed: "connect-failed"
        case .unreachable: "unreachable"
        case .connectTimedOut: "connect-timed-out"
        case .connectionLost: "connection-lost"
        case .firstByteTimedOut: "response-timed-out"
        case .stalled: "stalled"
        case .outOfTime: "out-of-time"
        case .malformedResponse: "malformed-response"
        case .status: "status"
        case .rejected: "response-rejected"
        case .bodyTooShort: "body-too-short"
        case .partOnly: "part-only"
        case .representationChanged: "representation-changed"
        case .differentURL: "different-url"
        case .completenessUnknown: "completeness-unknown"
        case .heldBytesDamaged: "held-bytes-damaged"
        }
    }
}

extension UploadSetback {
    /// The kind of setback, in JSON events. It stays the same.
    public var code: String {
        switch self {
        case .transport(let setback): setback.code
        case .status: "status"
        case .noOffset: "no-offset"
        case .noProgress: "no-progress"
        case .uploadGone: "upload-gone"
        case .uploadExpired: "upload-expired"
        case .smallerRequests: "smaller-requests"
        case .otherDialect: "other-dialect"
        }
    }
}

extension DownloadRestartReason {
    /// The kind of reason, in JSON events. It stays the same.
    public var code: String {
        switch self {
        case .noStrongValidator: "no-strong-validator"
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
    /// The kind of reason, in JSON events. It stays the same.
    public var code: String {
        switch self {
        case .uploadGone: "upload-gone"
        case .sourceChanged: "source-changed"
        case .otherDialect: "other-dialect"
        }
    }
}
