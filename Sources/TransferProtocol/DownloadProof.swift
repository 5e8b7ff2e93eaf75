import HTTPSemantics

/// The evidence that a complete file is correct.
public enum DownloadProof: Hashable, Sendable {
    /// Its SHA-256 matches one given by the caller or the server.
    case digest
    /// Length, strong entity tag and strong `Last-Modified` were the same in at least two responses, and after each
    /// broken connection the next range repeated at least 16 of the last bytes.
    case validators
    /// None: complete as far as HTTP can tell.
    case none(UnverifiedReason)

    /// The proof of a complete file. `isDigestRight`: its SHA-256 matched every given digest, and there was at least
    /// one.
    public init(_ evidence: DownloadEvidence, isDigestRight: Bool) {
        guard !isDigestRight else {
            self = .digest
            return
        }
        if evidence.isContradicted {
            self = .none(.contradicted)
        } else if evidence.isLengthUnknown {
            self = .none(.lengthUnknown)
        } else if evidence.hasExcessBytes {
            self = .none(.excessBytes)
        } else if evidence.hasUncomparedJoin {
            self = .none(.uncomparedJoin)
        } else if evidence.isJoinedByOverlap {
            self = .none(.overlapOnly)
        } else {
            switch evidence.agreement {
            case .untested: self = .none(.oneResponse)
            case .oneValidator: self = .none(.oneValidator)
            case .twoValidators: self = .validators
            case .dateDiffers: self = .none(.dateDiffers)
            }
        }
    }
}

/// Why a complete file is unverified. The raw value is its code in JSON events.
public enum UnverifiedReason: String, CaseIterable, Hashable, Sendable {
    /// The connection's end marked the file's end (RFC 9112, section 6.3), which looks like a truncation.
    case lengthUnknown = "length-unknown"
    /// A final confirmation request named another version or length.
    case contradicted = "contradicted"
    /// More bytes than announced followed, so the announced length may be wrong.
    case excessBytes = "surplus-bytes"
    /// The entity tag was the same but `Last-Modified` wasn't: the parts may be from two versions.
    case dateDiffers = "date-differs"
    /// A connection broke after too few bytes for the next range to repeat 16 of them.
    case uncomparedJoin = "join-not-compared"
    /// Parts were joined without a strong validator: only repeated bytes say that they belong together.
    case overlapOnly = "overlap-only"
    /// Only one validator was the same in all responses.
    case oneValidator = "one-validator"
    /// There was only one response.
    case oneResponse = "one-response"

    /// Whether a server's own statements cast doubt on the bytes. Others are merely unconfirmed.
    public var isSuspicious: Bool {
        switch self {
        case .lengthUnknown, .contradicted, .excessBytes, .dateDiffers, .uncomparedJoin: true
        case .overlapOnly, .oneValidator, .oneResponse: false
        }
    }
}

/// What the responses said about the received bytes, apart from digests. Kept in the journal.
public struct DownloadEvidence: Hashable, Sendable {
    /// How later validators compare with the first ones.
    public enum Agreement: UInt8, CaseIterable, Hashable, Sendable {
        /// There was no later response.
        case untested = 0
        /// Some response had only one validator.
        case oneValidator = 1
        /// The same strong entity tag and strong `Last-Modified` in all.
        case twoValidators = 2
        /// The same entity tag with another `Last-Modified`.
        case dateDiffers = 3
    }

    /// How the validators of the responses compare.
    public var agreement = Agreement.untested
    /// Whether the length was inferred from the end of a connection, so a truncation is possible.
    public var isLengthUnknown = false
    /// Whether more bytes than announced followed.
    public var hasExcessBytes = false
    /// Whether a final confirmation request named another version or length.
    public var isContradicted = false
    /// Whether parts were joined without a strong validator, by an overlap alone.
    public var isJoinedByOverlap = false
    /// Whether bytes follow those of a broken connection without an overlap of `minimumOverlap`.
    public var hasUncomparedJoin = false

    /// The least overlap after a broken connection that a proof by validators rests on: 16 bytes.
    static let minimumOverlap: Int64 = 16

    /// Makes the evidence of one response with an announced length.
    public init() {}

    /// Adds a later response of the same representation. Doubts are never removed.
    mutating func compare(_ first: DownloadRepresentation, with other: DownloadRepresentation) {
        let new = first.agreement(with: other)
        switch (agreement, new) {
        case (.dateDiffers, _), (_, .dateDiffers): agreement = .dateDiffers
        case (.oneValidator, _), (_, .oneValidator): agreement = .oneValidator
        case (.untested, _), (.twoValidators, _): agreement = new
        }
    }

    /// One byte: the agreement in bits 0 and 1, then the five flags.
    var encoded: UInt8 {
        agreement.rawValue | (isLengthUnknown ? 4 : 0) | (hasExcessBytes ? 8 : 0) | (isContradicted ? 16 : 0)
            | (isJoinedByOverlap ? 32 : 0) | (hasUncomparedJoin ? 64 : 0)
    }

    /// Decodes the output of `encoded`; `nil` for any other byte.
    init?(encoded: UInt8) {
        guard encoded < 128, let agreement = Agreement(rawValue: encoded & 3) else { return nil }
        self.agreement = agreement
        isLengthUnknown = encoded & 4 != 0
        hasExcessBytes = encoded & 8 != 0
        isContradicted = encoded & 16 != 0
        isJoinedByOverlap = encoded & 32 != 0
        hasUncomparedJoin = encoded & 64 != 0
    }
}

extension DownloadRepresentation {
    /// Compares the validators of a later response with these.
    fileprivate func agreement(with other: DownloadRepresentation) -> DownloadEvidence.Agreement {
        guard let entityTag, let tag = other.entityTag, entityTag.matchesStrongly(tag) else { return .oneValidator }
        guard let lastModified, let modified = other.lastModified else { return .oneValidator }
        guard HTTPDate(lastModified) == HTTPDate(modified), HTTPDate(lastModified) != nil else { return .dateDiffers }
        return isDateStrong ? .twoValidators : .oneValidator
    }
}
