internal import FoundationEssentials

/// Continues a transfer, in this process or another. It has the URL and the path of the file; the transferred bytes are
/// recorded on the disk.
///
/// A token has no credentials, headers or callbacks, which are given again. Its URL may be a secret by itself, if it was signed.
public struct ResumptionToken: Hashable, Sendable, Codable {
    /// Which way a transfer goes.
    public enum Direction: String, Hashable, Sendable, Codable {
        /// From the server to the file.
        case download
        /// From the file to the server.
        case upload
    }

    /// Which way the transfer goes.
    public var direction: Direction
    /// The URL of the request.
    public var url: String
    /// The path of the file, absolute; empty for an upload of bytes in memory or of a stream, which is given again.
    public var file: String
    /// The method of an upload.
    public var method: String?
    /// The SHA-256 that the request named; for an upload without a file that of its bytes.
    public var sha256: [UInt8]?
    /// Whether a download has to be proved.
    public var requiresProof: Bool?
    /// The media type of an upload.
    public var contentType: String?
    /// Whether sending the upload twice is harmless.
    public var isRepeatable: Bool?
    /// The folder that remembers the upload, if it isn't the default.
    public var stateFolder: String?

    init(_ direction: Direction, _ request: TransferRequest, file: String, stateFolder: String?) {
        self.direction = direction
        url = request.url
        self.file = file
        sha256 = request.sha256
        self.stateFolder = stateFolder
        if direction == .upload {
            method = request.method
            contentType = request.contentType
            if request.isRepeatable { isRepeatable = true }
        } else if request.requiresProof {
            requiresProof = true
        }
    }

    /// Reads what `text` has written.
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

    /// The request that it continues, without headers and credentials.
    var request: TransferRequest {
        var request = TransferRequest(url)
        request.method = method
        request.sha256 = sha256
        request.requiresProof = requiresProof ?? false
        request.isRepeatable = isRepeatable ?? false
        if let contentType { request.contentType = contentType }
        return request
    }
}
