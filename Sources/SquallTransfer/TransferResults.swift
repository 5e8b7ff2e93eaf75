/// A download that came to its end: the file is complete, checked, on the disk and in its place.
public struct DownloadResult: Hashable, Sendable {
    /// The path of the file, absolute.
    public var file: String
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// Whether the file was compared with a digest, of the server (`Repr-Digest`, RFC 9530) or of the caller.
    public var isVerified: Bool
    /// Why the file isn't proved, as a clause; `nil` where a digest, or validators that agree, vouch for it.
    public var doubt: String?
    /// The URL that answered, after redirections.
    public var url: String
    /// How many connections were tried.
    public var connections: Int
    /// How often the server went on at an offset.
    public var resumptions: Int
    /// How often held bytes were thrown away.
    public var restarts: Int
    /// The bytes that an earlier run had left.
    public var bytesHeldAtStart: Int64
    /// The bytes that were received more than once, or for nothing.
    public var bytesRepeated: Int64
    /// How long it took, waits included.
    public var duration: Duration
}

/// An upload that came to its end: the server has accepted the whole.
public struct UploadResult: Hashable, Sendable {
    /// What proves that the server has the file. Others may be added.
    public struct Proof: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let rawValue: String
        /// Makes a proof of its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// The server told a digest, and it is the file's.
        public static let digest = Proof(rawValue: "digest")
        /// The target accepted the whole, and told no digest.
        public static let accepted = Proof(rawValue: "accepted")
        /// The server says that it has the whole; the response of the target was lost.
        public static let complete = Proof(rawValue: "complete")
    }

    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// What proves that the server has the file.
    public var proof: Proof
    /// The status of the target's response; `nil` when it was lost.
    public var status: Int?
    /// The interop version of the draft that the upload ended in; `nil` for an ordinary upload.
    public var dialect: Int?
    /// How many connections were tried.
    public var connections: Int
    /// How often the upload went on at an offset.
    public var resumptions: Int
    /// How often the upload started anew.
    public var restarts: Int
    /// The bytes that were sent more than once, or for nothing.
    public var bytesRepeated: Int64
    /// How long it took, waits included.
    public var duration: Duration
}
