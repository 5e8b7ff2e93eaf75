import TransferProtocol
import Units

extension DownloadURLProblem: CustomStringConvertible {
    /// The problem and its remedy. Repeats nothing of the URL, which may contain a password.
    public var description: String {
        switch self {
        case .noScheme: "it doesn't start with http:// or https://"
        case .unknownScheme: "its scheme isn't known; use http or https"
        case .noHost: "it names no host"
        case .invalidHost: "its host is no host name; write names beyond ASCII in Punycode"
        case .invalidPort: "its port is no number from 1 to 65535"
        case .userInformation:
            "it names a user, which no URL does here; leave it out, and give it apart"
        case .controlCharacter: "it has a control character"
        case .tooLong: "it is longer than \(DownloadURL.maximumLength) bytes"
        }
    }
}

extension TransientDownloadFailure: CustomStringConvertible {
    /// The failure as a clause.
    public var description: String {
        switch self {
        case .connectFailed(let reason): "the connection failed: \(reason)"
        case .unreachable(let reason): "the host can't be reached: \(reason)"
        case .connectTimedOut: "the connection took too long"
        case .connectionLost(let reason): "the connection was lost: \(reason)"
        case .firstByteTimedOut: "the answer took too long"
        case .stalled: "the transfer stalled"
        case .deadlineExceeded: "the time was up"
        case .malformedResponse(let reason): "invalid HTTP response (\(reason))"
        case .status(let status): "the server answered \(status)"
        case .rejected(let rejection): rejection.description
        case .bodyTooShort: "the body was shorter than its head said"
        case .partialOnly: "the server sent only a part of the rest"
        case .representationChanged: "the file changed on the server"
        case .differentURL: "the rest came from another URL"
        case .completenessUnknown: "the server has to be asked whether the file is complete"
        case .receivedBytesDamaged: "bytes of the partial file aren't those that came"
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
        case .overlapDiffers: "the part differs from the bytes that are held"
        case .bodyTooLong: "the body was longer than its head said"
        case .rangeRefused: "the server refuses the range that is missing"
        case .transferCoding(let coding): "the transfer coding \(coding.quoted) wasn't offered"
        }
    }
}

extension DownloadRestartReason: CustomStringConvertible {
    /// The reason, as a clause.
    public var description: String {
        switch self {
        case .representationChanged: "the file changed on the server"
        case .rangeIgnored: "the server ignores ranges"
        case .rangeUnusable(let rejection): rejection.description
        case .digestMismatch: "the digest was wrong"
        case .journalUnusable: "the journal of the partial file can't be used"
        case .differentURL: "the partial file came from another URL"
        }
    }
}

extension DownloadFailure: CustomStringConvertible {
    /// What the server did, and the remedy.
    public var description: String {
        switch self {
        case .status(let status): "the server answered \(status); check the URL"
        case .otherProtocol(let status, let name):
            "the server answered \(status) and speaks \(name): it has no file there"
        case .ambiguousLength:
            "the server sends a Content-Length that is no number, comes twice or is beside Transfer-Encoding, so nobody can tell where its "
                + "answer ends"
        case .unauthorized(let challenge, let use): challenge.sentence(use)
        case .contentEncoding(let coding):
            "the server codes the file as \(coding.quoted), which wasn't asked for; have it send the file as it is, or "
                + "store the bytes as they are sent"
        case .redirectWithoutLocation(let status): "the server answered \(status) without saying where to go"
        }
    }
}

extension DownloadChallenge {
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
    public var description: String {
        switch self {
        case .progress(let bytes): "\(bytes) new byte\(bytes == 1 ? "" : "s")"
        case .differentRequest: "another request"
        case .backoff(let attempts): "\(attempts) attempt\(attempts == 1 ? "" : "s") without progress"
        case .repeatedRestart(let times): "starting over \(times) time\(times == 1 ? "" : "s")"
        case .rateLimit(let rate): "at most \(rate) requests a second that bring little"
        case .retryAfter: "the server's Retry-After"
        }
    }

    /// The name of the rule in JSON events.
    public var code: String {
        switch self {
        case .progress: "progress"
        case .differentRequest: "other-request"
        case .backoff: "back-off"
        case .repeatedRestart: "starting-over"
        case .rateLimit: "pace"
        case .retryAfter: "retry-after"
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
        case .retryAfter(let wait): "the server asks to wait for \(wait), longer than is waited for"
        }
    }
}
