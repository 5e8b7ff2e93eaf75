import HTTPSemantics
import TransferProtocol

/// The file that an upload becomes.
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

/// Everything that is fixed when an upload is created.
public struct UploadRecord: Hashable, Sendable {
    /// The file that it becomes.
    public var target: UploadTarget
    /// The dialect of the creation; `nil` for an ordinary request, which can't be resumed.
    public var dialect: UploadDialect?
    /// The length of the representation in bytes, if it is known.
    public var length: Int64?
    /// The digest that the representation must have, if the client named one.
    public var digest: ReprDigest?
    /// Whether the file must not exist yet (`If-None-Match: *`).
    public var isOnlyNew: Bool
    /// The time of the creation, in seconds since 1970.
    public var created: Int64

    /// Makes a record.
    public init(
        target: UploadTarget,
        dialect: UploadDialect?,
        length: Int64?,
        digest: ReprDigest?,
        isOnlyNew: Bool,
        created: Int64
    ) {
        self.target = target
        self.dialect = dialect
        self.length = length
        self.digest = digest
        self.isOnlyNew = isOnlyNew
        self.created = created
    }
}

/// The answer of the target to a complete upload. It is kept, for a client that lost it.
public struct UploadOutcome: Hashable, Sendable {
    /// The result, from the target's point of view.
    public enum Status: Int, Hashable, Sendable {
        /// There was no such file before.
        case created = 201
        /// The file took the place of another.
        case replaced = 204
        /// The bytes haven't the digest that was promised.
        case digestMismatch = 400
        /// A file of this name can't be put there.
        case notReplaceable = 409
        /// The file exists, and the request demanded that it doesn't.
        case exists = 412
    }

    /// The result.
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

    /// Whether the file is in its place.
    public var isSuccess: Bool { status == .created || status == .replaced }
}
