import TransferProtocol
import Units

extension TransferURLProblem: CustomStringConvertible {
    /// The problem and its remedy. Repeats nothing of the URL, which may contain a password.
    public var description: String {
        switch self {
        case .noScheme: "it doesn't start with http:// or https://"
        case .unknownScheme: "its scheme isn't http or https; write http://HOST/PATH or https://HOST/PATH"
        case .noHost: "it names no host"
        case .invalidHost: "its host is no host name; write names beyond ASCII in Punycode"
        case .invalidPort: "its port is no number from 1 to 65535"
        case .userInformation: "it names a user; leave that out of the URL"
        case .controlCharacter: "it has a control character"
        case .tooLong: "it is longer than \(TransferURL.maximumLength) bytes"
        }
    }
}

extension TransientFailure: CustomStringConvertible {
    /// The failure as a clause.
    public var description: String { words.text }
    /// The stable code in JSON events.
    public var code: String { words.code }

    private var words: (code: String, text: String) {
        switch self {
        case .connectFailed(let reason): ("connect-failed", "the connection failed: \(reason)")
        case .unreachable(let reason): ("unreachable", "the host can't be reached: \(reason)")
        case .connectTimedOut: ("connect-timed-out", "the connection took too long")
        case .connectionLost(let reason): ("connection-lost", "the connection was lost: \(reason)")
        case .firstByteTimedOut: ("response-timed-out", "the answer took too long")
        case .stalled: ("stalled", "the transfer stalled")
        case .deadlineExceeded: ("out-of-time", "the time was up")
        case .malformedResponse(let reason): ("malformed-response", "invalid HTTP response (\(reason))")
        case .status(let status): ("status", "the server answered \(status)")
        case .rejected(let rejection): ("response-rejected", rejection.description)
        case .bodyTooShort: ("body-too-short", "the body was shorter than its head said")
        case .partialOnly: ("part-only", "the server sent only a part of the rest")
        case .representationChanged: ("representation-changed", "the file changed on the server")
        case .differentURL: ("different-url", "the rest came from another URL")
        case .completenessUnknown: ("completeness-unknown", "the server has to be asked whether the file is complete")
        case .receivedBytesDamaged: ("held-bytes-damaged", "bytes of the partial file aren't those that came")
        case .noOffset: ("no-offset", "the server told no offset of the upload")
        case .noProgress: ("no-progress", "the server took nothing")
        case .uploadGone: ("upload-gone", "the server no longer has the upload")
        case .uploadExpired: ("upload-expired", "the upload has expired")
        case .smallerRequests: ("smaller-requests", "the server asks for smaller requests")
        case .differentDialect(let dialect?):
            ("other-dialect", "the server speaks interop version \(dialect.interopVersion)")
        case .differentDialect(nil):
            ("other-dialect", "the server speaks another version of resumable uploads; an ordinary upload follows")
        }
    }
}

extension DownloadRejection: CustomStringConvertible {
    /// The problem as a clause.
    public var description: String {
        switch self {
        case .unrequestedPartialContent: "the server sent a part that nobody asked for"
        case .multipart: "the server sent several parts in one"
        case .noContentRange: "the server sent a part without saying which"
        case .noValidator: "the server sent a part without saying of which version"
        case .conditionIgnored: "the server sent all of the file, though it didn't change"
        case .tagDiffers: "the server names another entity tag for the same length and date"
        case .startsLate(let requested, let got): "the part starts at \(got), and \(requested) was asked for"
        case .startsEarly(let requested, let got): "the part starts at \(got), too far before \(requested)"
        case .lengthsDisagree: "Content-Length and Content-Range disagree"
        case .otherFile: "the server sent something of another length than the file, such as a login page"
        case .overlapDiffers: "the part differs from the bytes that are held"
        case .bodyTooLong: "the body was longer than its head said"
        case .rangeRefused: "the server refuses the range that is missing"
        case .transferCoding(let coding): "the transfer coding \(coding.quoted) wasn't offered"
        }
    }
}

extension RestartReason: CustomStringConvertible {
    /// The reason, as a clause.
    public var description: String { words.text }
    /// The stable code in JSON events.
    public var code: String { words.code }

    private var words: (code: String, text: String) {
        switch self {
        case .representationChanged: ("representation-changed", "the file changed on the server")
        case .rangeIgnored: ("range-ignored", "the server ignores ranges")
        case .rangeUnusable(let rejection): ("range-unusable", rejection.description)
        case .digestMismatch: ("digest-mismatch", "the digest was wrong")
        case .journalUnusable: ("journal-unusable", "the journal of the partial file can't be used")
        case .differentURL: ("different-url", "the partial file came from another URL")
        case .uploadGone: ("upload-gone", "the server no longer has the upload")
        case .sourceChanged: ("source-changed", "the file changed since the last run")
        case .differentDialect: ("other-dialect", "the upload was begun in another dialect")
        }
    }
}

extension TransferRefusal: CustomStringConvertible {
    /// What the server did, and the remedy.
    public var description: String {
        switch self {
        case .status(204): "the server answered 204: it has no file there"
        case .status(413): "the server answered 413: it takes no content of this size"
        case .status(let status): "the server answered \(status); check the URL"
        case .uploadRefused(let status, _): "the server answered \(status) to the unfinished upload"
        case .otherProtocol(let status, let name): "the server answered \(status) and speaks \(name), another protocol"
        case .unauthorized(let challenge, let use): challenge.sentence(use)
        case .redirection(let status, let url?):
            "the server answered \(status), and a POST isn't repeated at \(url.quoted)"
        case .redirection(let status, nil):
            "the server answered \(status) more than 10 times, or without a usable place to go"
        case .ambiguousLength:
            "the server sends a Content-Length that is no number, comes twice or is beside Transfer-Encoding, or lines of a head that end "
                + "in LF alone, so nobody can tell where its answer ends"
        case .contentEncoding(let coding):
            "the server codes the file as \(coding.quoted), which wasn't asked for; have it send the file as it is, or "
                + "store the bytes as they are sent"
        case .sizeRefused(let limits): Self.sizeSentence(limits)
        case .appendLimitTooSmall(let limit):
            "the server takes only \(limit) bytes in a request, too few to upload with"
        case .dialectRefused(let version?):
            "the server speaks interop version \(version) of resumable uploads, and another was asked for"
        case .dialectRefused(nil): "the server doesn't speak this version of resumable uploads"
        case .respondedEarly(let status): "the server answered \(status) before it had the whole file"
        case .notRepeatable(let cause):
            "\(cause); the server can't resume uploads, and sending a POST again may do it twice"
        case .outcomeUnknown:
            "the whole file was sent, the answer was lost, and the server no longer has the upload: look whether the "
                + "file arrived before uploading it again"
        case .tooManyRestarts(let count): "the server lost the upload \(count) times"
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

extension HTTPChallenge {
    /// The challenge as a sentence.
    func sentence(_ use: CredentialUse) -> String {
        let realm = realm.map { " for \($0.quoted)" } ?? ""
        let schemes = schemes.isEmpty ? "" : " (\(schemes.joined(separator: ", ").shortened(to: 60)))"
        if isFromProxy {
            let what = use == .sent ? "takes none of what was sent" : "asks for credentials"
            return "a proxy answered 407: it \(what)\(realm)\(schemes)"
        }
        return switch use {
        case .none: "the server answered 401: it asks for credentials\(realm)\(schemes)"
        case .sent: "the server answered 401: it refuses the credentials that it was sent\(realm)\(schemes)"
        case .withheld:
            "the server answered 401: it asks for credentials\(realm)\(schemes), and isn't the one that they were given for"
        }
    }
}

extension RetryRule: CustomStringConvertible {
    /// The reason for a delay, as a clause.
    public var description: String { words.text }
    /// The name of the rule in JSON events.
    public var code: String { words.code }

    private var words: (code: String, text: String) {
        switch self {
        case .progress(let bytes): ("progress", "\(bytes) new byte\(bytes == 1 ? "" : "s")")
        case .differentRequest: ("other-request", "another request")
        case .backoff(let attempts): ("back-off", "\(attempts) attempt\(attempts == 1 ? "" : "s") without progress")
        case .repeatedRestart(let times): ("starting-over", "starting over \(times) time\(times == 1 ? "" : "s")")
        case .rateLimit(let rate): ("pace", "at most \(rate) requests a second that bring little")
        case .retryAfter: ("retry-after", "the server's Retry-After")
        }
    }
}

extension UnverifiedReason: CustomStringConvertible {
    /// Why the file is unverified, as a clause.
    public var description: String {
        switch self {
        case .lengthUnknown: "the server told no length, and the end of the connection may have been a cut"
        case .contradicted: "asked again at the end, the server named another version or length"
        case .excessBytes: "more bytes followed than the head of the response said"
        case .dateDiffers: "Last-Modified changed between the parts and the entity tag didn't"
        case .uncomparedJoin: "a connection broke after so few bytes that none could be compared with the next part"
        case .overlapOnly: "without a strong validator, only repeated bytes say that the parts are of one version"
        case .oneValidator: "one validator alone confirms that the parts are of one version"
        case .oneResponse: "one response alone tells of it, without a digest"
        }
    }
}

extension RetryLimit: CustomStringConvertible {
    /// The limit as a clause.
    public var description: String {
        switch self {
        case .attempts(let count): "gave up after \(count) attempt\(count == 1 ? "" : "s") without progress"
        case .deadline(let deadline): "the deadline of \(deadline) would be missed"
        case .caller: "no further attempt was wanted"
        case .retryAfter(let wait): "the server asks to wait for \(wait.text), longer than is waited for"
        }
    }
}

extension CredentialProblem: CustomStringConvertible {
    /// The problem as a clause.
    public var description: String {
        switch self {
        case .colonInName: "a name has no colon"
        case .controlCharacter: "there is a control character in it"
        case .tooLong: "it is longer than \(BasicCredentials.maximumSize) bytes"
        }
    }
}
