/// The decision on a response head.
public enum DownloadHeadDecision: Hashable, Sendable {
    /// Append the body to the received bytes.
    case append
    /// Compare this many leading bytes of the body with the last received ones; append the rest.
    case appendDropping(Int64)
    /// Write the body at this offset, over damaged bytes.
    case repair(from: Int64)
    /// Nothing has been received: write the body from offset 0.
    case begin
    /// Discard the received bytes when the first byte of the body is written, then write from offset 0.
    case truncateAndRestart(DownloadRestartReason)
    /// Send the same request to this `Location`.
    case follow(location: String)
    /// Don't read the body: the attempt is over.
    case conclude(DownloadConclusion)
}

/// The outcome of an attempt, after a head with an unread body or after the body.
public enum DownloadConclusion: Hashable, Sendable {
    /// All bytes are there: verify the digest and rename the file.
    case complete
    /// The range is complete but the file isn't: take the next step.
    case requestMore
    /// Close the connection and take the next step immediately. Counts as an attempt.
    case retryNow(TransientDownloadFailure)
    /// Close the connection and take the next step after a backoff of at least `after`.
    case retry(after: Duration?, TransientDownloadFailure)
    /// Give up and keep the received bytes.
    case fail(DownloadFailure)
}

extension DownloadHeadDecision {
    package static var complete: DownloadHeadDecision { .conclude(.complete) }

    package static func retryNow(_ cause: TransientDownloadFailure) -> DownloadHeadDecision {
        .conclude(.retryNow(cause))
    }

    package static func retry(after: Duration?, _ cause: TransientDownloadFailure) -> DownloadHeadDecision {
        .conclude(.retry(after: after, cause))
    }

    package static func fail(_ failure: DownloadFailure) -> DownloadHeadDecision { .conclude(.fail(failure)) }
}

/// Why received bytes are discarded.
public enum DownloadRestartReason: Hashable, Sendable {
    /// The representation has changed.
    case representationChanged
    /// The server ignored `Range` and sent the full representation, unchanged.
    case rangeIgnored
    /// The server's partial responses are unusable.
    case rangeUnusable(DownloadRejection)
    /// The digest of the complete file was wrong.
    case digestMismatch
    /// The journal can't be read, or doesn't match the partial file.
    case journalUnusable
    /// The partial file came from another URL.
    case differentURL
}

/// Why a response isn't used.
public enum DownloadRejection: Hashable, Sendable {
    /// A 206 without a range request.
    case unrequestedPartialContent
    /// A multipart response to a single range.
    case multipart
    /// No valid `Content-Range`, or one that doesn't match the status.
    case noContentRange
    /// The response lacks the validator of the received bytes, so the range must repeat some of them.
    case noValidator
    /// The server sent the full representation, unchanged, although the condition of the range holds.
    case conditionIgnored
    /// The entity tag differs, and nothing else does: servers of one name may each have a tag of their own.
    case tagDiffers
    /// The range starts after the first missing byte.
    case startsLate(requested: Int64, got: Int64)
    /// The range starts before the bytes that can be compared.
    case startsEarly(requested: Int64, got: Int64)
    /// `Content-Length` and `Content-Range` disagree.
    case lengthsDisagree
    /// The overlap differs from the received bytes.
    case overlapDiffers
    /// The body is longer than announced.
    case bodyTooLong
    /// 416 for a range within the representation.
    case rangeRefused
    /// A transfer coding that was never offered.
    case transferCoding(String)
}

/// Why an attempt failed in a way that a retry may fix.
public enum TransientDownloadFailure: Hashable, Sendable {
    /// No connection, or one that failed before the server processed the request: the system's message.
    case connectFailed(String)
    /// No route to the host, or no name server: the system's message.
    case unreachable(String)
    /// The connection wasn't established in time.
    case connectTimedOut
    /// The connection ended early: the system's message.
    case connectionLost(String)
    /// No final response head in time.
    case firstByteTimedOut
    /// The throughput fell below the minimum.
    case stalled
    /// The deadline of the transfer passed.
    case deadlineExceeded
    /// An invalid HTTP response, or one above a limit: the parser's message.
    case malformedResponse(String)
    /// A retryable status.
    case status(Int)
    /// An unusable response.
    case rejected(DownloadRejection)
    /// The body ended, properly framed, before its announced length.
    case bodyTooShort
    /// The response was complete, but the file isn't.
    case partialOnly
    /// The representation isn't the one of the received bytes.
    case representationChanged
    /// The response came from another URL than the received bytes.
    case differentURL
    /// Whether the received bytes are complete must be queried.
    case completenessUnknown
    /// Received bytes were damaged on disk.
    case receivedBytesDamaged
}

/// Why no further attempt is made.
public enum DownloadFailure: Hashable, Sendable {
    /// A status that a retry wouldn't change.
    case status(Int)
    /// The same, from a server of another protocol, by its name.
    case otherProtocol(status: Int, String)
    /// A `Content-Length` that is no number or beside `Transfer-Encoding`: nobody can tell where the response ends (RFC
    /// 9112, section 6.3).
    case ambiguousLength
    /// 401 or 407: the challenge, and whether the request carried credentials.
    case unauthorized(DownloadChallenge, CredentialUse)
    /// A content coding although only `identity` was accepted: the bytes wouldn't be the file's.
    case contentEncoding(String)
    /// A redirect without `Location`.
    case redirectWithoutLocation(status: Int)
}
