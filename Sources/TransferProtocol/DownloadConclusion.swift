/// What to do about the head of a response.
public enum DownloadHeadDecision: Hashable, Sendable {
    /// Write the body where the held bytes end.
    case append
    /// Compare the first bytes of the body, this many, with the last ones that are held; append what follows.
    case appendDropping(Int64)
    /// Write the body from this offset, in the place of bytes that are held and damaged.
    case repair(from: Int64)
    /// Nothing is held: write the body from offset 0.
    case begin
    /// Throw the held bytes away before the first byte of the body is written, then write from offset 0.
    case truncateAndRestart(DownloadRestartReason)
    /// Send the same request to the target of this `Location`.
    case follow(location: String)
    /// Leave the body unread: the attempt is over.
    case conclude(DownloadConclusion)
}

/// What the end of an attempt asks for: of a head whose body isn't read, or of a body that was.
public enum DownloadConclusion: Hashable, Sendable {
    /// The bytes are all there: check the digest and put the file in its place.
    case complete
    /// The part is complete and the file isn't: take the next step.
    case askForMore
    /// Close the connection and take the next step at once. Counts as an attempt.
    case askAgain(DownloadSetback)
    /// Close the connection and take the next step after a wait, which is no shorter than `after`.
    case retry(after: Duration?, DownloadSetback)
    /// Give up, and keep what is held.
    case fail(DownloadFailure)
}

extension DownloadHeadDecision {
    package static var complete: DownloadHeadDecision { .conclude(.complete) }

    package static func askAgain(_ setback: DownloadSetback) -> DownloadHeadDecision { .conclude(.askAgain(setback)) }

    package static func retry(after: Duration?, _ setback: DownloadSetback) -> DownloadHeadDecision {
        .conclude(.retry(after: after, setback))
    }

    package static func fail(_ failure: DownloadFailure) -> DownloadHeadDecision { .conclude(.fail(failure)) }
}

/// Why the bytes that were held are thrown away.
public enum DownloadRestartReason: Hashable, Sendable {
    /// The server names no state of the representation by which a range could be asked for safely.
    case noStrongValidator
    /// The representation isn't the one that the bytes came from.
    case representationChanged
    /// The server sent the whole, unchanged, though a range was asked for.
    case rangeIgnored
    /// The server's partial answers can't be used.
    case rangeUnusable(DownloadRejection)
    /// The digest of the complete file was wrong.
    case digestMismatch
    /// The journal beside the partial file can't be read, or doesn't fit the file.
    case journalUnusable
    /// The partial file came from another URL.
    case differentURL
}

/// Why the head or the body of a response isn't used.
public enum DownloadRejection: Hashable, Sendable {
    /// A 206, and no range was asked for.
    case unaskedPartialContent
    /// Several ranges in one, and one was asked for.
    case multipart
    /// No valid `Content-Range`, or one that doesn't fit the status.
    case noContentRange
    /// The range isn't named by the validator that the held bytes came with.
    case noValidator
    /// The range starts after the first byte that is missing.
    case startsLate(asked: Int64, got: Int64)
    /// The range starts earlier than the bytes that can be compared reach.
    case startsEarly(asked: Int64, got: Int64)
    /// The range ends before the first byte that is missing.
    case nothingNew
    /// `Content-Length` and `Content-Range` disagree.
    case lengthsDisagree
    /// The bytes that overlap with those held differ from them.
    case overlapDiffers
    /// The body is longer than its head said.
    case bodyTooLong
    /// 416 for a range that the representation has.
    case rangeRefused
    /// A transfer coding that was never offered.
    case transferCoding(String)
}

/// Why an attempt brought no complete file, though another one may.
public enum DownloadSetback: Hashable, Sendable {
    /// No connection, or none that takes the request, of which the server has processed nothing: the system's words.
    case connectFailed(String)
    /// No route to the host, or nobody to ask for its address: the system's words.
    case unreachable(String)
    /// No connection within the limit.
    case connectTimedOut
    /// The connection ended early: the system's words.
    case connectionLost(String)
    /// No final head within the limit.
    case firstByteTimedOut
    /// The body came slower than the stall rule allows.
    case stalled
    /// The deadline of the transfer came.
    case outOfTime
    /// The bytes aren't HTTP, or exceed a limit: the parser's words.
    case malformedResponse(String)
    /// A status that asks to come back later.
    case status(Int)
    /// An answer that can't be used.
    case rejected(DownloadRejection)
    /// The body ended, in order, before the bytes that its head promised.
    case bodyTooShort
    /// The response ended, as its head said, before the end of the file.
    case partOnly
    /// The representation isn't the one that the held bytes came from.
    case representationChanged
    /// Another URL answered than the one that the held bytes came from.
    case differentURL
    /// Whether the held bytes are the whole must be asked.
    case completenessUnknown
    /// Bytes that are held aren't what came, so the disk has changed them.
    case heldBytesDamaged
}

/// Why no further attempt is made.
public enum DownloadFailure: Hashable, Sendable {
    /// A status that no repetition changes.
    case status(Int)
    /// 401 or 407: what is asked for, and whether the request carried credentials.
    case unauthorized(DownloadChallenge, CredentialUse)
    /// A content coding, though none was accepted: the bytes wouldn't be the file's.
    case contentEncoding(String)
    /// A redirection without a target.
    case redirectWithoutLocation(status: Int)
}
