import HTTPSemantics
import HTTPTypes

/// What is known of the representation that the bytes on disk are a prefix of.
public struct DownloadRepresentation: Hashable, Sendable {
    /// `ETag`, weak or strong.
    public var entityTag: EntityTag?
    /// `Last-Modified` as it was sent, unless an `ETag` came with it that can't be read; it goes back unchanged
    /// in `If-Range`.
    public var lastModified: String?
    /// `Date` of the response that `lastModified` came with.
    public var date: HTTPDate?
    /// The length of the whole in bytes, or `nil` while the server hasn't told.
    public var total: Int64?
    /// `Content-Type`, for the caller.
    public var contentType: String?
    /// The digest of the whole, when the server sent one (RFC 9530).
    public var digest: ReprDigest?
    /// Whether the server sent bytes before that weren't those of its digest: without one it isn't believed any more.
    public var isDigestOwed = false
    /// What the responses so far said about the bytes received.
    public var evidence = DownloadEvidence()

    /// Makes a representation of which nothing is known.
    public init() {}

    /// Takes what a 200 or a 206 says about the whole representation. The total of a 200 is its `Content-Length`,
    /// that of a 206 stands in its `Content-Range`.
    public init(_ head: DownloadResponseHead) {
        entityTag = head.fields[.eTag].flatMap { EntityTag($0) }
        // An entity tag that can't be read leaves no validator: the date may not stand in for it.
        lastModified = head.fields[.eTag] != nil && entityTag == nil ? nil : head.fields[.lastModified]
        date = head.fields[.date].flatMap { HTTPDate($0) }
        contentType = head.fields[.contentType]
        digest = head.fields[.reprDigest].flatMap { ReprDigest($0) }
        if case .bytes(_, _, let total) = head.contentRange {
            self.total = total
        } else if head.status == 200, case .length(let length) = head.framing {
            total = length
        }
    }

    /// The validator that a range may be asked with, or `nil` when there is none that is strong.
    ///
    /// An entity tag counts when it isn't weak. `Last-Modified` counts only when there is no entity tag at all (RFC 9110,
    /// section 13.1.5), not even one that can't be read, and when it is at least one second older than the `Date` of the
    /// same response (section 8.8.2.2).
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

    /// Whether `other`, from a later response, certainly isn't the same representation.
    ///
    /// What only one of the two tells is no contradiction, and no confirmation either.
    func isContradicted(by other: DownloadRepresentation) -> Bool {
        if let entityTag, let tag = other.entityTag, !entityTag.matchesStrongly(tag) { return true }
        if entityTag == nil, let lastModified, let modified = other.lastModified,
            HTTPDate(lastModified) != HTTPDate(modified)
        {
            return true
        }
        if let total, let otherTotal = other.total, total != otherTotal { return true }
        if let digest, let otherDigest = other.digest, digest != otherDigest { return true }
        return false
    }

    /// Whether `other`, from the response of this `head`, is proved to be the same by the strong validator of this one;
    /// that of another resource needs the same digest, too.
    func isConfirmed(by other: DownloadRepresentation, _ head: DownloadResponseHead) -> Bool {
        guard let strongValidator, !isContradicted(by: other) else { return false }
        guard !head.isFromElsewhere || hasDigest(of: other) else { return false }
        return switch strongValidator {
        case .entityTag: other.entityTag != nil
        case .lastModified: other.entityTag == nil && other.lastModified != nil
        }
    }

    /// Whether both are known to have the same digest.
    func hasDigest(of other: DownloadRepresentation) -> Bool { digest != nil && digest == other.digest }

    /// Whether `other`, from the 206 of this `head`, may be joined with this one.
    ///
    /// A 206 must carry the entity tag that a 200 would (RFC 9110, section 15.3.7), and only parts of one strong
    /// validator are joined (section 15.3.7.3). `Last-Modified` it may leave out, but it can't bring a tag in its place.
    func isContinued(by other: DownloadRepresentation, _ head: DownloadResponseHead) -> Bool {
        switch strongValidator {
        case .entityTag: isConfirmed(by: other, head)
        case .lastModified: head.fields[.eTag] == nil && !isContradicted(by: other)
        case nil: false
        }
    }

    /// Takes over what an earlier response of the same representation told in addition.
    mutating func complete(from other: DownloadRepresentation) {
        total = total ?? other.total
        digest = digest ?? other.digest
    }

    /// Takes over what a later response of the same representation tells in addition, and whether its validators agree.
    mutating func learn(from other: DownloadRepresentation) {
        evidence.compare(self, with: other)
        complete(from: other)
    }
}

/// A validator strong enough to ask for a range with (RFC 9110, section 13.1.5).
public enum DownloadValidator: Hashable, Sendable {
    /// A strong entity tag.
    case entityTag(EntityTag)
    /// A `Last-Modified` that is old enough, as it was sent.
    case lastModified(String)

    /// The value for `If-Range`.
    public var headerValue: String {
        switch self {
        case .entityTag(let tag): tag.headerValue
        case .lastModified(let value): value
        }
    }
}
