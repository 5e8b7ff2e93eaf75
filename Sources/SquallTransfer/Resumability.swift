internal import TransferClient
internal import TransferProtocol

/// Whether a transfer whose connection is lost now continues where it was, or why not.
public enum Resumability: Hashable, Sendable {
    /// Not known before the server has responded, or without a received byte.
    case unknown
    /// It continues at `TransferStatus.completedBytes`, by itself or with a token.
    case continues
    /// It can be resumed, by itself or with a token, but starts over at the first byte.
    case startsOver(ResumptionObstacle)
    /// It can't be resumed.
    case impossible(ResumptionObstacle)
}

/// Why a transfer can't be resumed where it was. Others may be added.
public struct ResumptionObstacle: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// Makes a reason from its name.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// The call was invalid: nothing was started.
    public static let wrongInput = ResumptionObstacle(rawValue: "wrong-input")
    /// The same request fails again unless something changes.
    public static let finalFailure = ResumptionObstacle(rawValue: "final-failure")
    /// The transfer keeps no state: `data` and `bytes`, an ephemeral session, or an upload that was still reading its
    /// stream.
    public static let nothingKept = ResumptionObstacle(rawValue: "nothing-kept")
    /// The server doesn't serve ranges, or not the requested ones (RFC 9110, section 14).
    public static let noRanges = ResumptionObstacle(rawValue: "no-ranges")
    /// The server's file has changed, or the file of an upload.
    public static let fileChanged = ResumptionObstacle(rawValue: "file-changed")
    /// The body of a download has a content coding, in which offsets differ (RFC 9110, section 8.4).
    public static let contentCoded = ResumptionObstacle(rawValue: "content-coded")
    /// The received bytes are damaged, or don't belong to the file: their digest is wrong, or their journal is gone.
    public static let partialFileUnusable = ResumptionObstacle(rawValue: "partial-file-unusable")
    /// The server names no upload resource: it speaks no version of resumable uploads that is allowed, or hasn't responded
    /// yet.
    public static let noUploadResource = ResumptionObstacle(rawValue: "no-upload-resource")
    /// The same, and repeating the request might process it twice: the method isn't idempotent (RFC 9110, section 9.2.2).
    public static let notRepeatable = ResumptionObstacle(rawValue: "not-repeatable")
}

extension ResumptionObstacle {
    init(_ reason: RestartReason) {
        self =
            switch reason {
            case .rangeIgnored, .rangeUnusable: .noRanges
            case .representationChanged, .differentURL, .sourceChanged: .fileChanged
            case .uploadGone, .differentDialect: .noUploadResource
            case .digestMismatch, .journalUnusable: .partialFileUnusable
            }
    }
}

extension TransferStatus {
    /// A response shows whether a lost connection would be continued.
    mutating func note(_ reason: RestartReason?) {
        if let reason {
            resumability = .startsOver(ResumptionObstacle(reason))
        } else if resumability != .startsOver(.noRanges) {
            // A server that ignored a range once may do so again.
            resumability = .continues
        }
    }
}

extension EngineError {
    /// Why resuming starts over; `nil` for an error that doesn't tell.
    var reasonToStartOver: ResumptionObstacle? {
        switch self {
        case .tooManyRestarts(_, let reason): ResumptionObstacle(reason)
        case .sourceChanged: .fileChanged
        default: nil
        }
    }

    /// Why there is no token after a permanent failure.
    var obstacle: ResumptionObstacle {
        switch self {
        case .refused(.contentEncoding): .contentCoded
        case .refused(.notRepeatable): .notRepeatable
        default: .finalFailure
        }
    }
}
