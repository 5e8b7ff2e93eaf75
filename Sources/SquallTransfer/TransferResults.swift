package import TransferClient

/// A completed download: the file is complete, durable and renamed. `isVerified` says whether a digest proved it.
public struct DownloadResult: Hashable, Sendable {
    /// The absolute path of the file.
    public let file: String
    package let summary: TransferSummary
    private let details: DownloadDetails

    init(_ summary: TransferSummary, file: String) {
        guard let details = summary.download else { preconditionFailure("A download ends as a download") }
        (self.file, self.summary, self.details) = (file, summary, details)
    }

    /// The length of the file.
    public var bytes: Int64 { summary.bytes }
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8] { summary.sha256 }
    /// Whether the file matched a digest, of the server (`Repr-Digest`, RFC 9530) or of the caller.
    public var isVerified: Bool { !details.verified.isEmpty }
    /// Why the file is unverified, as a clause; `nil` if a digest or agreeing validators prove it.
    public var unverifiedReason: String? {
        if case .none(let reason) = details.proof { reason.description } else { nil }
    }
    /// The URL that responded, after redirects.
    public var url: String { details.finalURL }
    /// The fields of the last response; empty if the file was complete before a request.
    public var headers: HTTPFields { details.fields }
    /// Connections attempted.
    public var connections: Int { summary.connections }
    /// How often the server resumed at an offset.
    public var resumptions: Int { summary.resumptions }
    /// How often received bytes were discarded.
    public var restarts: Int { summary.restarts }
    /// Bytes taken over from an earlier run.
    public var bytesRecovered: Int64 { summary.bytesRecovered }
    /// Bytes received more than once, or in vain.
    public var bytesRepeated: Int64 { summary.bytesRepeated }
    /// The duration, including backoff.
    public var duration: Duration { summary.duration }
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
        public var headers: HTTPFields
        /// The body, as far as it came: at most 1 MiB.
        public var body: [UInt8]
    }

    package let summary: TransferSummary
    private let details: UploadDetails

    init(_ summary: TransferSummary) {
        guard let details = summary.upload else { preconditionFailure("An upload ends as an upload") }
        (self.summary, self.details) = (summary, details)
    }

    /// The length of the file.
    public var bytes: Int64 { summary.bytes }
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8] { summary.sha256 }
    /// The evidence that the server has the file.
    public var proof: Proof { Proof(rawValue: details.proof.rawValue) }
    /// The target's response; `nil` when it was lost.
    public var response: Response? {
        details.response.map { Response(status: $0.status, headers: $0.fields, body: $0.body) }
    }
    /// The status of the target's response; `nil` when it was lost.
    public var status: Int? { details.response?.status }
    /// The interop version of the draft in which the upload ended; `nil` for a plain upload.
    public var dialect: Int? { details.dialect }
    /// Connections attempted.
    public var connections: Int { summary.connections }
    /// How often the upload resumed at an offset.
    public var resumptions: Int { summary.resumptions }
    /// How often the upload restarted.
    public var restarts: Int { summary.restarts }
    /// Bytes sent more than once, or in vain.
    public var bytesRepeated: Int64 { summary.bytesRepeated }
    /// The duration, including backoff.
    public var duration: Duration { summary.duration }
}
