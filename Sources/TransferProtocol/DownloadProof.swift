import HTTPSemantics

/// What vouches for a complete file.
public enum DownloadProof: Hashable, Sendable {
    /// Its SHA-256 is the one that the caller or the server named.
    case digest
    /// Its length and two validators, a strong entity tag and a strong `Last-Modified`, are the same in all responses,
    /// of which there were at least two.
    case validators
    /// Nothing: it is complete as far as HTTP can tell.
    case none(DownloadDoubt)

    /// The proof of a complete file. `isDigestRight` tells that its SHA-256 was compared with at least one that was named,
    /// and with no other.
    public init(_ evidence: DownloadEvidence, isDigestRight: Bool) {
        guard !isDigestRight else {
            self = .digest
            return
        }
        if evidence.isContradicted {
            self = .none(.contradicted)
        } else if evidence.isLengthUnknown {
            self = .none(.lengthUnknown)
        } else if evidence.hasSurplus {
            self = .none(.surplusBytes)
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

/// Why a complete file isn't proved. The raw value is its code in JSON events.
public enum DownloadDoubt: String, CaseIterable, Hashable, Sendable {
    /// The end of the connection was the end of the file (RFC 9112, section 6.3), and a cut looks the same.
    case lengthUnknown = "length-unknown"
    /// Asked once more at the end, the server named another version or another length.
    case contradicted = "contradicted"
    /// More bytes followed than the head said, so the length it named may be wrong.
    case surplusBytes = "surplus-bytes"
    /// The entity tag stayed, and `Last-Modified` didn't: the parts may be of two versions.
    case dateDiffers = "date-differs"
    /// One validator alone was the same in all responses.
    case oneValidator = "one-validator"
    /// All that is known comes from one response.
    case oneResponse = "one-response"

    /// Whether the received bytes may be wrong by what the server itself said. Others are only not confirmed.
    public var isSuspicion: Bool {
        switch self {
        case .lengthUnknown, .contradicted, .surplusBytes, .dateDiffers: true
        case .oneValidator, .oneResponse: false
        }
    }
}

/// What the responses said about the received bytes, digests aside. It is kept in the journal of the partial file.
public struct DownloadEvidence: Hashable, Sendable {
    /// How the validators of later responses compare with those of the first one.
    public enum Agreement: UInt8, CaseIterable, Hashable, Sendable {
        /// There was no later response.
        case untested = 0
        /// A later response named one validator only, or the first one did.
        case oneValidator = 1
        /// All named the same strong entity tag and the same strong `Last-Modified`.
        case twoValidators = 2
        /// One named the same entity tag and another `Last-Modified`.
        case dateDiffers = 3
    }

    /// How the validators of the responses compare.
    public var agreement = Agreement.untested
    /// Whether the length is known from the end of a connection only, so that a cut can't be excluded.
    public var isLengthUnknown = false
    /// Whether more bytes followed than a head said.
    public var hasSurplus = false
    /// Whether a response to the question about the complete file named another version or length.
    public var isContradicted = false

    /// Makes the evidence of one response whose head names the length.
    public init() {}

    /// Takes note of a later response of the same representation. What was doubtful once stays so.
    mutating func compare(_ first: DownloadRepresentation, with other: DownloadRepresentation) {
        let new = first.agreement(with: other)
        switch (agreement, new) {
        case (.dateDiffers, _), (_, .dateDiffers): agreement = .dateDiffers
        case (.oneValidator, _), (_, .oneValidator): agreement = .oneValidator
        case (.untested, _), (.twoValidators, _): agreement = new
        }
    }

    /// One byte: the agreement in the lowest two bits, then the three flags.
    var encoded: UInt8 {
        agreement.rawValue | (isLengthUnknown ? 4 : 0) | (hasSurplus ? 8 : 0) | (isContradicted ? 16 : 0)
    }

    /// Reads what `encoded` wrote; `nil` for any other byte.
    init?(encoded: UInt8) {
        guard encoded < 32, let agreement = Agreement(rawValue: encoded & 3) else { return nil }
        self.agreement = agreement
        isLengthUnknown = encoded & 4 != 0
        hasSurplus = encoded & 8 != 0
        isContradicted = encoded & 16 != 0
    }
}

extension DownloadRepresentation {
    /// How the validators of a later response of the same representation compare with these.
    fileprivate func agreement(with other: DownloadRepresentation) -> DownloadEvidence.Agreement {
        guard let entityTag, let tag = other.entityTag, entityTag.matchesStrongly(tag) else { return .oneValidator }
        guard let lastModified, let modified = other.lastModified else { return .oneValidator }
        guard HTTPDate(lastModified) == HTTPDate(modified), HTTPDate(lastModified) != nil else { return .dateDiffers }
        return isDateStrong ? .twoValidators : .oneValidator
    }
}
