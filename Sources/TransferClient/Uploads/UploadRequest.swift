import HTTPTypes
import SystemPackage
import TransferProtocol

/// An upload request.
public struct UploadRequest: Sendable {
    /// An absolute `http` or `https` URL without user information.
    public var url: String
    /// The method of the creation request: `POST`, `PUT` or another with content.
    public var method = HTTPRequest.Method.put
    /// The allowed dialects.
    public var dialects = UploadFormatChoice.automatic
    /// Whether repeating the full request is harmless although the method isn't idempotent.
    public var isRepeatable = false
    /// Fields of the representation, such as `Content-Type`, sent with the creation.
    public var fields: HTTPFields = [.contentType: "application/octet-stream"]
    /// The credentials and fields of the caller.
    public var credentials = RequestCredentials.none
    /// The SHA-256 of the content, 32 bytes, if known. A file isn't hashed then: with a wrong digest the upload fails
    /// once the server has compared it. Bytes in memory and streams are compared before anything is sent.
    public var sha256: [UInt8]?
    /// The folder for journals of unfinished uploads, created if missing; `nil` for none.
    public var journalFolder: FilePath?

    /// Whether an earlier run, which can't say how it ended, may have sent the content.
    package var mayBeSent = false

    /// Makes a request.
    public init(url: String, journalFolder: FilePath?) {
        self.url = url
        self.journalFolder = journalFolder
    }

    /// Whether the full request may be repeated (RFC 9110, section 9.2.2).
    var mayBeRepeated: Bool { isRepeatable || method == .put }
}
