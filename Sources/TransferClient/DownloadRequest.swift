import TransferProtocol

/// What to download.
public struct DownloadRequest: Hashable, Sendable {
    /// An absolute `http` URL without a user name.
    public var url: String
    /// What the caller shows of itself, and to whom.
    public var credentials: DownloadCredentials
    /// The SHA-256 that the file must have, 32 bytes, when the caller knows it.
    public var expectedSHA256: [UInt8]?
    /// Whether a complete file that isn't proved is a failure. Without a digest the server is asked about it at the end.
    public var requiresProof: Bool

    /// Makes a request.
    public init(
        url: String,
        expectedSHA256: [UInt8]? = nil,
        requiresProof: Bool = false,
        credentials: DownloadCredentials = .none
    ) {
        self.url = url
        self.credentials = credentials
        self.expectedSHA256 = expectedSHA256
        self.requiresProof = requiresProof
    }
}
