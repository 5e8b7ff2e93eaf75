import HTTPSemantics
import HTTPTypes

/// The state machine of a download: the next request, and the decision on each response.
///
/// A value without files, sockets or clocks. The received bytes are discarded only when the head of a full response has
/// arrived. Bytes are appended behind an overlap that equals the last received ones, which may not be the server's. No
/// sequence of responses makes it accept an incomplete file.
public struct DownloadState: Hashable, Sendable {
    /// What the caller allows.
    public struct Rules: Hashable, Sendable {
        /// Whether a digest of the caller decides on the complete file: then an overlap is enough to join parts, whatever
        /// their entity tags.
        public var hasExpectedDigest: Bool
        /// Whether a body with a content coding is stored as sent.
        public var storesCoded: Bool

        /// Makes rules.
        public init(hasExpectedDigest: Bool = false, storesCoded: Bool = false) {
            self.hasExpectedDigest = hasExpectedDigest
            self.storesCoded = storesCoded
        }
    }

    /// The maximum overlap that is compared and dropped: 64 KiB. A range that starts earlier is rejected.
    public static let maximumOverlap: Int64 = 64 << 10
    /// The maximum number of damaged blocks that are fetched again individually: 16.
    public static let maximumRepairs = 16
    /// The maximum size of a damaged block that is fetched again individually: 64 MiB.
    public static let maximumRepairSize: Int64 = 64 << 20
    /// Consecutive unusable partial responses before the full representation is requested: 2.
    static let rejectionsBeforeFullRequest = 2

    /// The number of received bytes: a prefix of `representation`.
    public internal(set) var length: Int64 = 0
    /// The representation of the received bytes; `nil` before the first response.
    public internal(set) var representation: DownloadRepresentation?

    /// The purpose of the next request.
    enum Phase: Hashable, Sendable {
        /// The remaining bytes.
        case continuing
        /// A HEAD: whether the received bytes are complete.
        case probing
        /// These bytes again, since they were damaged on disk. The block's hash verifies the replacement.
        case repairing(Range<Int64>)
        /// The full representation, replacing the received bytes.
        case replacing(RestartReason)
    }

    /// How the received bytes end.
    enum Tail: Hashable, Sendable {
        /// As the last response said.
        case whole
        /// Where a connection broke, or where nothing says that others may follow.
        case broken
        /// At bytes of another URL.
        case fromOtherURL
        /// At bytes that a second response repeated, and at which it ended: as one of a server that fails at one byte of
        /// the file, or sends parts shorter than the overlap. They are the server's, and an overlap would end there again.
        case repeated
    }

    /// What the caller allows.
    let rules: Rules
    /// The purpose of the next request.
    var phase = Phase.continuing
    /// How the received bytes end.
    var tail = Tail.whole
    /// The bytes of the last body, including repeated ones: the next overlap is at most half of it, so that connections
    /// which break after equally many bytes make progress.
    var lastBodyLength: Int64 = 0
    /// Whether the server ignores a range with a condition.
    var isConditionIgnored = false
    /// Whether entity tags differ although nothing else says that the representation changed.
    var areTagsUnreliable = false
    /// Full responses in which nothing but the entity tag differed.
    var tagChanges = 0
    /// The damaged block found last.
    var lastRepaired: Range<Int64>?
    /// The number of damaged blocks found.
    var repairs = 0
    /// Unusable partial responses since the last usable one.
    var rejections = 0
    /// The body being received.
    var body: DownloadBody?

    /// Starts with nothing.
    public init(rules: Rules = Rules()) { self.rules = rules }

    /// Resumes with the first `length` bytes of `representation`, from a journal.
    ///
    /// - Parameter isFromOtherURL: Whether they came from another URL, for example one with another signature. They are
    ///   kept until a response replaces them, and the next range repeats up to 64 KiB of them.
    public init(
        resuming representation: DownloadRepresentation,
        length: Int64,
        isFromOtherURL: Bool = false,
        rules: Rules = Rules()
    ) {
        self.rules = rules
        self.representation = representation
        self.length = max(0, length)
        tail = isFromOtherURL ? .fromOtherURL : length == representation.total ? .whole : .broken
        lastBodyLength = isFromOtherURL ? .max : max(self.length, 2 * DownloadEvidence.minimumOverlap)
        guard let total = representation.total else { return }
        if length > total { phase = .replacing(.journalUnusable) }
        if length == total, isFromOtherURL { phase = .replacing(.differentURL) }
    }

    /// The next step. Has no side effects.
    public var nextStep: DownloadStep {
        if case .replacing(let reason) = phase { return .send(.full(length > 0 ? reason : nil)) }
        if damage == nil, tail != .broken, let total = representation?.total, total == length { return .finish }
        guard length > 0, let representation else { return .send(.full(nil)) }
        switch phase {
        case .repairing(let damage): return .send(.block(damage, condition(of: representation)))
        case .probing: return .send(.probe)
        case .continuing:
            return .send(.remaining(from: length - overlap(in: representation), condition(of: representation)))
        case .replacing(let reason): return .send(.full(reason))
        }
    }

    /// Why the next request would fetch everything again if the connection were lost now; `nil` if it would fetch the rest.
    public var reasonToStartOver: RestartReason? {
        var interrupted = self
        interrupted.bodyInterrupted()
        // The first byte of the response may be yet to come.
        interrupted.length = max(1, length)
        guard case .send(.full(let reason)) = interrupted.nextStep else { return nil }
        return reason
    }

    /// The condition of the next range.
    private func condition(of representation: DownloadRepresentation) -> RangeCondition {
        guard !isConditionIgnored else { return .unconditional }
        if !areTagsUnreliable, let validator = representation.strongValidator { return .ifRange(validator) }
        return representation.lastModified.map { .unmodifiedSince($0) } ?? .unconditional
    }

    /// The number of received bytes that the next range repeats.
    private func overlap(in representation: DownloadRepresentation) -> Int64 {
        let isJoinedByValidator = representation.strongValidator != nil && !areTagsUnreliable
        guard tail != .repeated else { return 0 }
        return min(length, Self.maximumOverlap, max(lastBodyLength / 2, isJoinedByValidator ? 0 : 1))
    }

    /// The part still to be fetched of the first damaged block; `nil` without one.
    public var damage: Range<Int64>? {
        if case .repairing(let range) = phase { range } else { nil }
    }

    /// Accounts for the next `count` bytes of the accepted body; adds the new ones to the received bytes.
    public mutating func received(_ count: Int) -> DownloadBody.Portion {
        guard var body else { return .init(dropped: 0, kept: 0) }
        let portion = body.receive(count)
        self.body = body
        guard !body.isRepair else {
            if let damage {
                let rest = body.position..<max(body.position, damage.upperBound)
                phase = rest.isEmpty ? .continuing : .repairing(rest)
            }
            return portion
        }
        length += Int64(portion.kept)
        return portion
    }

    /// Remembers how the body ended. The received bytes are whole when as many came as were announced.
    private mutating func ended(_ body: DownloadBody, asFramed: Bool) {
        guard !body.isRepair, body.count > 0 else { return }
        lastBodyLength = body.count
        if body.hasNewBytes {
            tail = asFramed || body.position == body.end ? .whole : .broken
        } else if body.hasRepeatedAll {
            tail = .repeated
        }
    }

    /// Whether the last response repeated the end of the received bytes and ended there: the next range starts behind it.
    public var isEndRepeated: Bool { tail == .repeated }

    /// The overlap differs from the received bytes: nothing of this body is used.
    public mutating func overlapMismatched() -> DownloadConclusion {
        body = nil
        return want(.rangeUnusable(.overlapDiffers), because: .rejected(.overlapDiffers))
    }

    /// Whether the accepted body exceeded its announced length; the excess isn't used.
    public var isBodyTooLong: Bool { body?.isTooLong ?? false }

    /// The accepted body ended as framed, or was abandoned because it is too long. `trailers` may contain the digest
    /// (RFC 9530).
    public mutating func bodyEnded(trailers: HTTPFields? = nil) -> DownloadConclusion {
        guard let body else { return .retry(after: nil, .bodyTooShort) }
        self.body = nil
        ended(body, asFramed: !body.isTooShort)
        if body.isRepair {
            return body.isTooShort ? .retry(after: nil, .bodyTooShort) : .requestMore
        }
        // The known length is wrong, so the received bytes are suspect.
        guard !body.isTooLong || !body.isEndRemembered else {
            return want(.representationChanged, because: .representationChanged)
        }
        guard !body.isTooLong else {
            guard representation?.total == length else { return .retry(after: nil, .rejected(.bodyTooLong)) }
            excessBytesFollowed()
            return .complete
        }
        guard !body.isTooShort else { return .retry(after: nil, .bodyTooShort) }
        if let digest = trailers?[.reprDigest].flatMap({ ReprDigest($0) }) {
            if let known = representation?.digest, known != digest, !body.isDigestRemembered {
                return want(.representationChanged, because: .representationChanged)
            }
            representation?.digest = digest
        }
        if body.end == nil {
            // A full body without an announced length: now its length is known.
            representation?.total = length
            representation?.evidence.isLengthUnknown = body.framing == .untilClose
        }
        if representation?.total == length { return .complete }
        return .requestMore
    }

    /// More bytes followed a complete response: its announced length may be wrong.
    public mutating func excessBytesFollowed() {
        representation?.evidence.hasExcessBytes = true
    }

    /// Restores `complete`, the state before the confirmation request; only a contradiction is kept.
    public mutating func confirmationFailed(about complete: DownloadState) {
        let isContradicted = representation?.evidence.isContradicted == true
        self = complete
        if isContradicted { representation?.evidence.isContradicted = true }
    }

    /// Verification against the journal found this first damaged range; bytes after it are unknown. Called again after
    /// the repair if there are more.
    ///
    /// - Returns: the received length. If it shrank, the rest is discarded and fetched again.
    public mutating func foundDamage(_ range: Range<Int64>) -> Int64 {
        body = nil
        let isFirstTry = range != lastRepaired
        lastRepaired = range
        repairs += 1
        if isFirstTry, repairs <= Self.maximumRepairs, Int64(range.count) <= Self.maximumRepairSize,
            tail != .fromOtherURL, representation?.strongValidator != nil
        {
            phase = .repairing(range)
            return length
        }
        guard range.lowerBound > 0 else {
            phase = .replacing(.journalUnusable)
            return length
        }
        phase = .continuing
        if tail == .broken { tail = .whole }
        length = range.lowerBound
        return length
    }

    /// The URL changes from now on: the next range must repeat the last received bytes.
    public mutating func urlChanged() {
        guard phase == .continuing, length > 0 else { return }
        tail = .fromOtherURL
        lastBodyLength = .max
    }

    /// The connection ended before the body did. The received bytes are kept, and the next step requests the rest.
    public mutating func bodyInterrupted() {
        if let body { ended(body, asFramed: false) }
        body = nil
    }

    /// The digest of the complete file is wrong: the next step requests the full representation. If the digest was the
    /// server's, the file isn't accepted without one any more.
    public mutating func digestMismatched() {
        if representation?.digest != nil { representation?.requiresDigest = true }
        phase = .replacing(.digestMismatch)
    }

    /// Requests the full representation at the next step.
    mutating func want(_ reason: RestartReason, because cause: TransientFailure) -> DownloadConclusion {
        phase = .replacing(reason)
        return .retryNow(cause)
    }
}
