import HTTPSemantics
import TransferProtocol

/// The destination file of an upload.
public struct UploadTarget: Hashable, Sendable {
    /// The name of the file in the folder for uploads; one component.
    public var name: String
    /// The path of its URL, percent-encoded.
    public var location: String

    /// Makes a target.
    public init(name: String, location: String) {
        self.name = name
        self.location = location
    }
}

/// The metadata of an upload, fixed at its creation.
public struct UploadRecord: Hashable, Sendable {
    /// The destination file.
    public var target: UploadTarget
    /// The dialect of the creation; `nil` for a plain upload, which can't be resumed.
    public var dialect: UploadDialect?
    /// The length of the representation in bytes, if known.
    public var length: Int64?
    /// The digest that the representation must have, if the client sent one.
    public var digest: ReprDigest?
    /// Whether the file must not exist yet (`If-None-Match: *`).
    public var isOnlyNew: Bool
    /// `If-Match` of the creation, compared with the file in place when the upload begins and ends (RFC 9110, section
    /// 13.1.1).
    public var ifMatch: String?
    /// The time of the creation, in seconds since 1970.
    public var created: Int64

    /// Makes a record.
    public init(
        target: UploadTarget,
        dialect: UploadDialect?,
        length: Int64?,
        digest: ReprDigest?,
        isOnlyNew: Bool,
        ifMatch: String? = nil,
        created: Int64
    ) {
        self.target = target
        self.dialect = dialect
        self.length = length
        self.digest = digest
        self.isOnlyNew = isOnlyNew
        self.ifMatch = ifMatch
        self.created = created
    }
}

/// The target's response to a complete upload. Kept for a client that lost it.
public struct UploadOutcome: Hashable, Sendable {
    /// The result for the target.
    public enum Status: Int, Hashable, Sendable {
        /// The file is new.
        case created = 201
        /// The file replaced another.
        case replaced = 204
        /// The bytes don't match the client's digest.
        case digestMismatch = 400
        /// The destination isn't a regular file.
        case notReplaceable = 409
        /// A precondition of the request doesn't hold (RFC 9110, section 13).
        case preconditionFailed = 412
    }

    /// The result for the target.
    public var status: Status
    /// The bytes of the upload.
    public var length: Int64
    /// The SHA-256 of these bytes.
    public var digest: ReprDigest

    /// Makes an outcome.
    public init(status: Status, length: Int64, digest: ReprDigest) {
        self.status = status
        self.length = length
        self.digest = digest
    }

    /// Whether the file is at its destination.
    public var isSuccess: Bool { status == .created || status == .replaced }
}
