import HTTPTypes
import SystemPackage
import TransferProtocol

/// What to upload, to where, and in which way.
public struct UploadRequest: Sendable {
    /// An absolute `http` URL without a user name.
    public var url: String
    /// The method of the request that creates: `POST`, `PUT` or another that a server takes content with.
    public var method = HTTPRequest.Method.put
    /// The dialects that may be used.
    public var dialects = UploadDialectChoice.automatic
    /// Whether sending the whole request twice is harmless although the method isn't idempotent.
    public var isRepeatable = false
    /// Fields of the representation, such as `Content-Type`. They go with the creation.
    public var fields: HTTPFields = [.contentType: "application/octet-stream"]
    /// What the caller shows of itself, and to whom.
    public var credentials = DownloadCredentials.none
    /// The SHA-256 of the content, 32 bytes, where the caller knows it. A file isn't read for it before it is sent: with a
    /// wrong one the upload fails, once the server compares it with what arrived. Bytes in memory and streams are compared
    /// with it before anything is sent.
    public var sha256: [UInt8]?
    /// The folder for the memory of unfinished uploads; it is made if it isn't there. With `nil` nothing is remembered.
    public var journalFolder: FilePath?

    /// Makes a request.
    public init(url: String, journalFolder: FilePath?) {
        self.url = url
        self.journalFolder = journalFolder
    }

    /// Whether the whole request may be sent twice (RFC 9110, section 9.2.2).
    var mayBeRepeated: Bool { isRepeatable || method == .put }
}
