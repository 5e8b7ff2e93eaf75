import TransferProtocol

extension TransientUploadFailure: CustomStringConvertible {
    /// The failure as a clause.
    public var description: String {
        switch self {
        case .transport(let cause): cause.description
        case .status(let status): "the server answered \(status)"
        case .noOffset: "the server told no offset of the upload"
        case .noProgress: "the server took nothing"
        case .uploadGone: "the server no longer has the upload"
        case .uploadExpired: "the upload has expired"
        case .smallerRequests: "the server asks for smaller requests"
        case .differentDialect(let dialect?): "the server speaks interop version \(dialect.rawValue)"
        case .differentDialect(nil):
            "the server speaks another version of resumable uploads; an ordinary upload follows"
        }
    }
}

extension UploadRestartReason: CustomStringConvertible {
    /// The reason, as a clause.
    public var description: String {
        switch self {
        case .uploadGone: "the server no longer has the upload"
        case .sourceChanged: "the file changed since the last run"
        case .differentDialect: "the upload was begun in another dialect"
        }
    }
}

extension UploadFailure: CustomStringConvertible {
    /// What the server did, and the remedy.
    public var description: String {
        switch self {
        case .refused(let status): "the server answered \(status); check the URL"
        case .otherProtocol(let status, let name):
            "the server answered \(status) and speaks \(name), another protocol of resumable uploads; use a client for it"
        case .accessRefused(let challenge, let use): challenge.sentence(use)
        case .sizeRefused(let limits): Self.sizeSentence(limits)
        case .appendLimitTooSmall(let limit):
            "the server takes only \(limit) bytes in a request, too few to upload with"
        case .dialectRefused(let version?):
            "the server speaks interop version \(version) of resumable uploads, and another was asked for"
        case .dialectRefused(nil): "the server doesn't speak this version of resumable uploads"
        case .respondedEarly(let status): "the server answered \(status) before it had the whole file"
        case .notRepeatable(let cause):
            "\(cause.description); the server can't resume uploads, and sending a POST again may do it twice"
        case .outcomeUnknown:
            "the whole file was sent, the answer was lost, and the server no longer has the upload: look whether the "
                + "file arrived before uploading it again"
        case .tooManyRestarts(let count): "the server lost the upload \(count) times"
        case .redirection(let status): "the server answered \(status) without a usable place to go"
        case .violation(let violation): violation.description
        }
    }

    private static func sizeSentence(_ limits: UploadLimits) -> String {
        if let most = limits.maximumSize { return "the server takes at most \(most) bytes" }
        if let least = limits.minimumSize { return "the server takes at least \(least) bytes" }
        return "the server refuses a file of this size"
    }
}

extension UploadViolation: CustomStringConvertible {
    /// The violation as a clause.
    public var description: String {
        switch self {
        case .offsetWentBack(let acknowledged, let got):
            "the server lost bytes: it had acknowledged \(acknowledged), and has \(got)"
        case .offsetBeyondEnd(let got, let length): "the server told the offset \(got) of a file of \(length) bytes"
        case .lengthDiffers(let got, let length): "the server takes the upload for \(got) bytes, and it has \(length)"
        case .completeTooEarly(let offset, let length):
            "the server says that the upload is complete with \(offset) of \(length) bytes"
        case .locationChanged: "the server named two URLs for one upload"
        case .locationMissing: "the server said that the upload is incomplete, and not where to continue"
        }
    }
}
