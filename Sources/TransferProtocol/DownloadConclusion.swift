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
    case truncateAndRestart(RestartReason)
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
    case retryNow(TransientFailure)
    /// Close the connection and take the next step after a backoff of at least `after`.
    case retry(after: Duration?, TransientFailure)
    /// Give up and keep the received bytes.
    case fail(TransferRefusal)
}

extension DownloadHeadDecision {
    package static var complete: DownloadHeadDecision { .conclude(.complete) }

    package static func retryNow(_ cause: TransientFailure) -> DownloadHeadDecision {
        .conclude(.retryNow(cause))
    }

    package static func retry(after: Duration?, _ cause: TransientFailure) -> DownloadHeadDecision {
        .conclude(.retry(after: after, cause))
    }

    package static func fail(_ failure: TransferRefusal) -> DownloadHeadDecision { .conclude(.fail(failure)) }
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
    /// A full response of another length than that of the received bytes' file, such as a login page.
    case otherFile
    /// The overlap differs from the received bytes.
    case overlapDiffers
    /// The body is longer than announced.
    case bodyTooLong
    /// 416 for a range within the representation.
    case rangeRefused
    /// A transfer coding that was never offered.
    case transferCoding(String)
}
