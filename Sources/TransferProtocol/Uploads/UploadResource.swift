import Units

/// The resource that a server made for one upload, and what is known of it.
///
/// Its URL is a capability: whoever knows it may append to the upload or end it. Messages never show it.
public struct UploadResource: Hashable, Sendable {
    /// The URL of the upload.
    public var url: DownloadURL
    /// The dialect in which the upload was created, and in which it is continued.
    public var dialect: UploadDialect
    /// The second since 1970 at which the server may forget the upload; `nil` when it told none.
    public var expiresAt: Int64?

    /// Makes a resource.
    public init(url: DownloadURL, dialect: UploadDialect, expiresAt: Int64? = nil) {
        self.url = url
        self.dialect = dialect
        self.expiresAt = expiresAt
    }

    /// The seconds by which the end of the upload's life may be another than the journal's: 60.
    static let expiryTolerance: Int64 = 60

    /// Whether `known` says the same: the URL, the dialect, and the time of the end up to a minute.
    func isKept(by known: UploadResource?) -> Bool {
        guard let known, known.url == url, known.dialect == dialect else { return false }
        guard let expiresAt, let earlier = known.expiresAt else { return known.expiresAt == expiresAt }
        return expiresAt.subtractingSaturated(earlier).magnitude < Self.expiryTolerance.magnitude
    }

    /// Whether requests to the upload may carry the credentials of requests to `target`.
    public func sharesOrigin(with target: DownloadURL) -> Bool {
        url.scheme == target.scheme && url.host == target.host && url.port == target.port
    }
}
