internal import FoundationEssentials
internal import HTTPTypes
public import TransferQueue

/// A transfer that isn't started: a value that can be stored, and started in any process by `resumeDownload` or
/// `resumeUpload`.
public typealias TransferJob = ResumptionToken

/// Resumes a transfer, in this process or another. Contains the URL and the file path; the transferred bytes are
/// recorded on disk.
///
/// A token has no credentials, headers or callbacks, which must be provided again. Its URL may be secret, if it is
/// signed.
public struct ResumptionToken: Hashable, Sendable, Codable {
    /// The direction of a transfer.
    public typealias Direction = QueuedTransfer.Direction

    /// The direction of the transfer.
    public var direction: Direction
    /// The URL of the request.
    public var url: String
    /// The absolute path of the file; empty for an upload of bytes in memory or of a stream, which must be provided
    /// again.
    public var file: String
    /// The method of an upload.
    public var method: String?
    /// The SHA-256 given by the request; for an upload without a file, the SHA-256 of its bytes.
    public var sha256: [UInt8]?
    /// Whether a download requires proof.
    public var requiresProof: Bool?
    /// The media type of an upload.
    public var contentType: String?
    /// Whether a download stores content in a coding as it comes.
    public var storesCoded: Bool?
    /// Whether repeating the upload is harmless.
    public var isRepeatable: Bool?
    /// Whether an expensive network may be used; `nil` for yes.
    public var allowsExpensive: Bool?
    /// Whether a constrained network may be used; `nil` for yes.
    public var allowsConstrained: Bool?
    /// The absolute path of the state folder of an upload; `nil` for one that hasn't begun, which gets the session's.
    public var stateFolder: String?

    init(_ direction: Direction, _ request: TransferRequest, file: String, stateFolder: String?) {
        self.direction = direction
        url = request.url
        self.file = file
        sha256 = request.sha256
        self.stateFolder = stateFolder
        if !request.allowsExpensive { allowsExpensive = false }
        if !request.allowsConstrained { allowsConstrained = false }
        if direction == .upload {
            method = request.method?.rawValue
            contentType = request.contentType
            if request.isRepeatable { isRepeatable = true }
        } else {
            if request.requiresProof { requiresProof = true }
            if request.storesCoded { storesCoded = true }
        }
    }

    /// A download to be started.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - file: The path of the destination; its folder must exist.
    public init(downloading request: TransferRequest, to file: String) {
        self.init(.download, request, file: TransferSession.absolute(file), stateFolder: nil)
    }

    /// The upload of a file to be started.
    ///
    /// - Parameters:
    ///   - request: The target.
    ///   - file: The path of a regular file.
    public init(uploading request: TransferRequest, from file: String) {
        self.init(.upload, request, file: TransferSession.absolute(file), stateFolder: nil)
    }

    /// Parses a token from the JSON in `text`.
    ///
    /// - Throws: A `TransferError` with the code `.invalidToken`.
    public init(_ text: String) throws {
        do {
            self = try JSONDecoder().decode(ResumptionToken.self, from: Data(text.utf8))
        } catch {
            throw TransferError(.invalidToken, "the text is no token of a transfer")
        }
    }

    /// The token as JSON, on one line.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "" }
        return String(decoding: data, as: UTF8.self)
    }

    /// The request to resume, without headers and credentials.
    var request: TransferRequest {
        var request = TransferRequest(url)
        request.method = method.flatMap { HTTPRequest.Method(rawValue: $0) }
        request.sha256 = sha256
        request.requiresProof = requiresProof ?? false
        request.storesCoded = storesCoded ?? false
        request.isRepeatable = isRepeatable ?? false
        request.allowsExpensive = allowsExpensive ?? true
        request.allowsConstrained = allowsConstrained ?? true
        if let contentType { request.contentType = contentType }
        return request
    }
}
