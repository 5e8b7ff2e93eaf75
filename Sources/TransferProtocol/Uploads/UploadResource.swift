import Units

/// The upload resource that a server created.
///
/// Its URL is a capability: anyone with it can append to or cancel the upload. Messages never show it.
public struct UploadResource: Hashable, Sendable {
    /// The URL of the upload. Only a permanent redirection replaces it.
    public var url: TransferURL
    /// The dialect in which the upload was created, and in which it is continued.
    public var dialect: UploadWireFormat
    /// When the server may delete the upload, in seconds since 1970; `nil` if unknown.
    public var expiresAt: Int64?
    /// Whether a server of another origin than the target's chose the URL: it gets no credentials then, even at the target's
    /// origin.
    public var hasLeftOrigin = false
    /// The redirections that lead to the upload for now; `nil` for none, or permanent ones only. They aren't journalled.
    var redirects: RedirectChain?

    /// The tolerance when comparing expiry times with the journal's: 60 s.
    static let expiryTolerance: Int64 = 60

    /// Whether `known` has the same URL, origin and dialect, and the same expiry time within the tolerance.
    func isPersisted(as known: UploadResource?) -> Bool {
        guard let known, known.url == url, known.hasLeftOrigin == hasLeftOrigin, known.dialect == dialect else {
            return false
        }
        guard let expiresAt, let earlier = known.expiresAt else { return known.expiresAt == expiresAt }
        return expiresAt.subtractingSaturated(earlier).magnitude < Self.expiryTolerance.magnitude
    }
}
