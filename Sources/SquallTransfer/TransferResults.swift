/// A completed download: the file is complete, verified, durable and renamed.
public struct DownloadResult: Hashable, Sendable {
    /// The absolute path of the file.
    public var file: String
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// Whether the file matched a digest, of the server (`Repr-Digest`, RFC 9530) or of the caller.
    public var isVerified: Bool
    /// Why the file is unverified, as a clause; `nil` if a digest or agreeing validators prove it.
    public var unverifiedReason: String?
    /// The URL that responded, after redirects.
    public var url: String
    /// Connections attempted.
    public var connections: Int
    /// How often the server resumed at an offset.
    public var resumptions: Int
    /// How often received bytes were discarded.
    public var restarts: Int
    /// Bytes taken over from an earlier run.
    public var bytesRecovered: Int64
    /// Bytes received more than once, or in vain.
    public var bytesRepeated: Int64
    /// The duration, including backoff.
    public var duration: Duration
}

/// A completed upload: the server has accepted all of it.
public struct UploadResult: Hashable, Sendable {
    /// The evidence that the server has the file. Others may be added.
    public struct Proof: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let rawValue: String
        /// Makes a proof from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// The server's digest matches the file's.
        public static let digest = Proof(rawValue: "digest")
        /// The target accepted the upload without a digest.
        public static let accepted = Proof(rawValue: "accepted")
        /// The server reports the upload complete; the target's response was lost.
        public static let complete = Proof(rawValue: "complete")
    }

    /// The target's response to an upload.
    public struct Response: Hashable, Sendable {
        /// The status code, from 200 to 299, or 303.
        public var status: Int
        /// The header fields, in order.
        public var headers: [TransferHeader]
        /// The body, as far as it came: at most 1 MiB.
        public var body: [UInt8]
    }

    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// The evidence that the server has the file.
    public var proof: Proof
    /// The target's response; `nil` when it was lost.
    public var response: Response?
    /// The status of the target's response; `nil` when it was lost.
    public var status: Int? { response?.status }
    /// The interop version of the draft in which the upload ended; `nil` for a plain upload.
    public var dialect: Int?
    /// Connections attempted.
    public var connections: Int
    /// How often the upload resumed at an offset.
    public var resumptions: Int
    /// How often the upload restarted.
    public var restarts: Int
    /// Bytes sent more than once, or in vain.
    public var bytesRepeated: Int64
    /// The duration, including backoff.
    public var duration: Duration
}
