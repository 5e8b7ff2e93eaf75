import HTTPSemantics
import HTTPTypes

/// The known metadata of the representation whose prefix is on disk.
public struct DownloadRepresentation: Hashable, Sendable {
    /// `ETag`, weak or strong.
    public var entityTag: EntityTag?
    /// `Last-Modified` as sent, for `If-Range`; `nil` when an unparsable `ETag` came with it.
    public var lastModified: String?
    /// `Date` of the response that `lastModified` came with.
    public var date: HTTPDate?
    /// The length of the full representation in bytes; `nil` while unknown.
    public var total: Int64?
    /// `Content-Type`, for the caller.
    public var contentType: String?
    /// `Content-Encoding` in lower case; `nil` for none. The received bytes are coded by it.
    public var contentCoding: String?
    /// The server's digest of the full representation (RFC 9530).
    public var digest: ReprDigest?
    /// Whether the server's digest was wrong once: the file isn't accepted without one any more.
    public var requiresDigest = false
    /// What the responses so far said about the received bytes.
    public var evidence = DownloadEvidence()

    /// Makes an unknown representation.
    public init() {}

    /// Takes the metadata of a 200 or 206. The total is the `Content-Length` of a 200, and is in the `Content-Range` of
    /// a 206.
    public init(_ head: DownloadResponseHead) {
        entityTag = head.fields[.eTag].flatMap { EntityTag($0) }
        // The date may not stand in for an unparsable entity tag.
        lastModified = head.fields[.eTag] != nil && entityTag == nil ? nil : head.fields[.lastModified]
        date = head.fields[.date].flatMap { HTTPDate($0) }
        contentType = head.fields[.contentType]
        contentCoding = head.contentEncoding
        digest = head.fields[.reprDigest].flatMap { ReprDigest($0) }
        if case .bytes(_, _, let total) = head.contentRange {
            self.total = total
        } else if head.status == 200, case .length(let length) = head.framing {
            total = length
        }
    }

    /// The validator for range requests; `nil` without a strong one.
    ///
    /// A strong entity tag counts. `Last-Modified` counts only without any `ETag` field (RFC 9110, section 13.1.5), and
    /// when it is at least one second older than the `Date` of the same response (section 8.8.2.2).
    public var strongValidator: DownloadValidator? {
        if let entityTag {
            return entityTag.isWeak ? nil : .entityTag(entityTag)
        }
        guard let lastModified, isDateStrong else { return nil }
        return .lastModified(lastModified)
    }

    /// Whether `lastModified` is at least one second older than the `Date` of its response (RFC 9110, section 8.8.2.2).
    var isDateStrong: Bool {
        guard let lastModified, let modified = HTTPDate(lastModified), let date else { return false }
        return date.secondsSinceEpoch.subtractingSaturated(modified.secondsSinceEpoch) >= 1
    }

    /// Whether `other`, from a later response, is certainly another representation.
    ///
    /// Metadata present in only one of them neither contradicts nor confirms.
    func isContradicted(by other: DownloadRepresentation) -> Bool {
        if let entityTag, let tag = other.entityTag {
            guard entityTag == tag else { return true }
            guard entityTag.isWeak else { return hasOtherContents(in: other) }
        }
        return isModified(in: other) == true || hasOtherContents(in: other)
    }

    /// Whether the entity tag of `other` differs, and nothing else that is known of both.
    func differsInTagOnly(from other: DownloadRepresentation) -> Bool {
        guard let entityTag, let tag = other.entityTag, entityTag != tag else { return false }
        return isModified(in: other) != true && !hasOtherContents(in: other)
    }

    /// Whether `Last-Modified` of `other` differs; `nil` unless both have one.
    func isModified(in other: DownloadRepresentation) -> Bool? {
        guard let lastModified, let modified = other.lastModified else { return nil }
        return HTTPDate(lastModified) != HTTPDate(modified)
    }

    /// Whether `other` names another length, digest or content coding.
    private func hasOtherContents(in other: DownloadRepresentation) -> Bool {
        if let total, let otherTotal = other.total, total != otherTotal { return true }
        if let digest, let otherDigest = other.digest, digest != otherDigest { return true }
        // A 206 may leave the coding out (RFC 9110, section 15.3.7).
        return other.contentCoding != nil && contentCoding != other.contentCoding
    }

    /// Whether the strong validator proves that `other`, from the response with this `head`, is the same
    /// representation; for another resource the digest must match too.
    func isConfirmed(by other: DownloadRepresentation, _ head: DownloadResponseHead) -> Bool {
        guard let strongValidator, !isContradicted(by: other) else { return false }
        guard !head.isFromOtherResource || hasDigest(of: other) else { return false }
        return switch strongValidator {
        case .entityTag: other.entityTag != nil
        case .lastModified: other.entityTag == nil && other.lastModified != nil
        }
    }

    /// Whether it is a page of HTML.
    var isPage: Bool { contentType?.lowercased().hasPrefix("text/html") == true }

    /// Whether both have the same known digest.
    func hasDigest(of other: DownloadRepresentation) -> Bool { digest != nil && digest == other.digest }

    /// Fills in missing metadata from an earlier response of the same representation.
    mutating func fillMissing(from other: DownloadRepresentation) {
        total = total ?? other.total
        digest = digest ?? other.digest
    }

    /// Adds metadata from a later response of the same representation, and compares the validators.
    mutating func merge(from other: DownloadRepresentation) {
        evidence.compare(self, with: other)
        fillMissing(from: other)
    }
}

/// A validator that is strong enough for `If-Range` (RFC 9110, section 13.1.5).
public enum DownloadValidator: Hashable, Sendable {
    /// A strong entity tag.
    case entityTag(EntityTag)
    /// A `Last-Modified` that is old enough, as sent.
    case lastModified(String)

    /// The value for `If-Range`.
    public var headerValue: String {
        switch self {
        case .entityTag(let tag): tag.headerValue
        case .lastModified(let value): value
        }
    }
}
