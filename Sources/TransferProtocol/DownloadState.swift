import HTTPSemantics
import HTTPTypes

/// The decisions of a download: what to ask for, and what to do about each answer.
///
/// A value without a file, a socket or a clock. The bytes that are held are always a prefix of one representation;
/// they are given up only when the head of a whole one has arrived. No order of answers makes it call a file complete
/// that isn't, or continue one representation with another.
public struct DownloadState: Hashable, Sendable {
    /// The most bytes of an early range that are compared and dropped: 64 KiB. A range that starts earlier is rejected.
    public static let longestOverlap: Int64 = 64 << 10
    /// So many damaged blocks of the held bytes are fetched again one by one, at most: 16.
    public static let mostRepairs = 16
    /// The most bytes of a damaged block that is fetched again alone: 64 MiB.
    public static let longestRepair: Int64 = 64 << 20
    /// So many unusable partial answers in a row, two, make the next request ask for the whole.
    static let rejectionsBeforeWhole = 2

    /// How many bytes are held: a prefix of `representation`.
    public internal(set) var length: Int64 = 0
    /// What the held bytes are a prefix of; `nil` before the first answer.
    public internal(set) var representation: DownloadRepresentation?

    /// What the next request is for.
    enum Phase: Hashable, Sendable {
        /// The rest of the file. A range that is `repeating` begins earlier and has to repeat held bytes: a validator alone
        /// doesn't prove that the rest belongs to them.
        case continuing(repeating: Bool)
        /// Whether the held bytes are the whole: a HEAD.
        case probing
        /// These held bytes once more, since they aren't what came. The hash of the block proves what takes their place.
        case repairing(Range<Int64>)
        /// The whole, in the place of the held bytes.
        case replacing(DownloadRestartReason)
    }

    /// What the next request is for.
    var phase = Phase.continuing(repeating: false)
    /// The damaged block that was found last.
    var lastRepaired: Range<Int64>?
    /// How many damaged blocks were found.
    var repairs = 0
    /// Unusable partial answers since the last usable one.
    var rejections = 0
    /// The body of the response that is being received.
    var body: DownloadBody?

    /// Starts with nothing.
    public init() {}

    /// Starts with the first `length` bytes of `representation`, as a journal tells.
    ///
    /// - Parameter isElsewhere: Whether they came from another URL than the one that is asked now, such as one that was
    ///   signed anew. The bytes are kept until a response takes their place, and the rest has to repeat the last of them.
    public init(resuming representation: DownloadRepresentation, length: Int64, isElsewhere: Bool = false) {
        self.representation = representation
        self.length = max(0, length)
        phase = .continuing(repeating: isElsewhere)
        guard let total = representation.total else { return }
        if length > total { phase = .replacing(.journalUnusable) }
        if length == total, isElsewhere { phase = .replacing(.differentURL) }
    }

    /// What to do next. Asking twice changes nothing.
    public var nextStep: DownloadStep {
        if case .replacing(let reason) = phase { return .ask(.whole(length > 0 ? reason : nil)) }
        if damage == nil, let total = representation?.total, total == length { return .finish }
        guard length > 0, let representation else { return .ask(.whole(nil)) }
        guard let validator = representation.strongValidator else { return .ask(.whole(.noStrongValidator)) }
        switch phase {
        case .repairing(let damage): return .ask(.block(damage, validator))
        case .probing: return .ask(.probe)
        case .continuing(let isRepeating):
            let overlap = isRepeating ? min(length, Self.longestOverlap) : 0
            return .ask(.rest(from: length - overlap, validator))
        case .replacing(let reason): return .ask(.whole(reason))
        }
    }

    /// What is missing of the first block of the held bytes that aren't what came; `nil` without one.
    public var damage: Range<Int64>? {
        if case .repairing(let range) = phase { range } else { nil }
    }

    /// Says what to do with the next `count` bytes of the accepted body, and counts the new ones as held.
    public mutating func received(_ count: Int) -> DownloadBody.Portion {
        guard var body else { return .init(dropped: 0, kept: 0, excess: count) }
        let portion = body.take(count)
        self.body = body
        guard !body.isRepair else {
            if let damage {
                let rest = body.position..<max(body.position, damage.upperBound)
                phase = rest.isEmpty ? .continuing(repeating: false) : .repairing(rest)
            }
            return portion
        }
        length += Int64(portion.kept)
        if portion.kept > 0 { phase = .continuing(repeating: false) }
        return portion
    }

    /// The bytes that were to be dropped differ from those held: nothing of this body is used.
    public mutating func overlapDiffered() -> DownloadConclusion {
        body = nil
        return want(.rangeUnusable(.overlapDiffers), because: .rejected(.overlapDiffers))
    }

    /// Whether more of the accepted body came than its head said: nothing of what follows is used.
    public var isBodyTooLong: Bool { body?.isTooLong ?? false }

    /// The accepted body ended as its framing says, or is left because it is too long. `trailers` may carry the digest
    /// (RFC 9530).
    public mutating func bodyEnded(trailers: HTTPFields? = nil) -> DownloadConclusion {
        guard let body else { return .retry(after: nil, .bodyTooShort) }
        self.body = nil
        if body.isRepair {
            return body.isTooShort ? .retry(after: nil, .bodyTooShort) : .askForMore
        }
        // What was told of the length before doesn't hold, so the held bytes may be anything.
        guard !body.isTooLong || !body.isEndRemembered else {
            return want(.representationChanged, because: .representationChanged)
        }
        guard !body.isTooLong else {
            guard representation?.total == length else { return .retry(after: nil, .rejected(.bodyTooLong)) }
            surplusFollowed()
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
            // The body was a whole one of a length that nobody announced: now it is known.
            representation?.total = length
            representation?.evidence.isLengthUnknown = body.framing == .untilClose
        }
        if representation?.total == length { return .complete }
        return .askForMore
    }

    /// More bytes followed a complete response: the length that its head named may be wrong.
    public mutating func surplusFollowed() {
        representation?.evidence.hasSurplus = true
    }

    /// Goes back to `complete`, this state before it asked about the complete file; only a contradiction is kept.
    public mutating func askedInVain(about complete: DownloadState) {
        let isContradicted = representation?.evidence.isContradicted == true
        self = complete
        if isContradicted { representation?.evidence.isContradicted = true }
    }

    /// The held bytes were compared with the journal: the first of them that aren't what came are these, and those behind
    /// them are unknown. To be told again once they are repaired, if there are more.
    ///
    /// - Returns: what is still held. Less than before means that the rest is given up, and fetched again by and by.
    public mutating func foundDamage(_ range: Range<Int64>) -> Int64 {
        body = nil
        let isFirstTry = range != lastRepaired
        lastRepaired = range
        repairs += 1
        if isFirstTry, repairs <= Self.mostRepairs, Int64(range.count) <= Self.longestRepair,
            phase != .continuing(repeating: true), representation?.strongValidator != nil
        {
            phase = .repairing(range)
            return length
        }
        guard range.lowerBound > 0 else {
            phase = .replacing(.journalUnusable)
            return length
        }
        if phase != .continuing(repeating: true) { phase = .continuing(repeating: false) }
        length = range.lowerBound
        return length
    }

    /// Another URL is asked from now on: the rest has to repeat the last of the held bytes.
    public mutating func moved() {
        if case .continuing = phase, length > 0 { phase = .continuing(repeating: true) }
    }

    /// The connection ended before the body did. What was received is kept, and the next step asks for the rest.
    public mutating func bodyCut() {
        body = nil
    }

    /// The digest of the complete file is wrong: the next step asks for the whole. If the server told the digest, the
    /// file isn't believed again without one.
    public mutating func digestMismatched() {
        if representation?.digest != nil { representation?.isDigestOwed = true }
        phase = .replacing(.digestMismatch)
    }

    /// Asks for the whole at the next step, and says so.
    mutating func want(_ reason: DownloadRestartReason, because setback: DownloadSetback) -> DownloadConclusion {
        phase = .replacing(reason)
        return .askAgain(setback)
    }
}
