import TransferProtocol

/// A download request.
public struct DownloadRequest: Sendable {
    /// An absolute `http` or `https` URL without user information.
    public var url: String
    /// The credentials and fields of the caller.
    public var credentials: RequestCredentials
    /// The expected SHA-256, 32 bytes, if known.
    public var expectedSHA256: [UInt8]?
    /// Whether an unverified complete file is a failure. Without a digest the server is asked for confirmation at the
    /// end.
    public var requiresProof: Bool
    /// Whether a body with a content coding, which wasn't asked for, is stored as sent. Otherwise it is a failure.
    public var storesCoded: Bool
    /// Whether the complete file replaces one at the destination. Otherwise that is a failure.
    package var replacesFile = true

    /// Makes a request.
    public init(
        url: String,
        expectedSHA256: [UInt8]? = nil,
        requiresProof: Bool = false,
        storesCoded: Bool = false,
        credentials: RequestCredentials = .none
    ) {
        self.url = url
        self.credentials = credentials
        self.expectedSHA256 = expectedSHA256
        self.requiresProof = requiresProof
        self.storesCoded = storesCoded
    }
}
