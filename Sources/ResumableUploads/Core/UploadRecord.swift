import HTTPSemantics
import TransferProtocol

/// The destination file of an upload.
package struct UploadTarget: Hashable, Sendable {
    /// The name of the file in the folder for uploads; one component.
    package var name: String
    /// The path of its URL, percent-encoded.
    package var location: String

    /// Makes a target.
    package init(name: String, location: String) {
        self.name = name
        self.location = location
    }
}

/// The metadata of an upload, fixed at its creation.
package struct UploadRecord: Hashable, Sendable {
    /// The destination file.
    package var target: UploadTarget
    /// The dialect of the creation; `nil` for a plain upload, which can't be resumed.
    package var dialect: UploadWireFormat?
    /// The length of the representation in bytes, if known.
    package var length: Int64?
    /// The digest that the representation must have, if the client sent one.
    package var digest: ReprDigest?
    /// Whether the file must not exist yet (`If-None-Match: *`).
    package var isOnlyNew: Bool
    /// `If-Match` of the creation, compared with the file in place when the upload begins and ends (RFC 9110, section
    /// 13.1.1).
    package var ifMatch: String?
    /// The time of the creation, in seconds since 1970.
    package var created: Int64
}

/// The target's response to a complete upload. Kept for a client that lost it.
package struct UploadOutcome: Hashable, Sendable {
    /// The result for the target.
    package enum Status: Int, Hashable, Sendable {
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
    package var status: Status
    /// The bytes of the upload.
    package var length: Int64
    /// The SHA-256 of these bytes.
    package var digest: ReprDigest

    /// Whether the file is at its destination.
    package var isSuccess: Bool { status == .created || status == .replaced }
}
