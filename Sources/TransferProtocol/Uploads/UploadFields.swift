import HTTPSemantics
import HTTPTypes

/// The resumable upload fields of a message; an `UploadWireFormat` reads and writes them.
///
/// They are structured fields (RFC 9651). A field that is repeated, out of range or of another type counts as absent.
public struct UploadFields: Hashable, Sendable {
    /// The largest offset or length: a structured integer has 15 digits at most (RFC 9651, section 3.3.1).
    public static let largest = StructuredItem.largestInteger

    /// Whether this message completes the upload: `Upload-Complete`, or the inverse of `Upload-Incomplete`.
    public var isComplete: Bool?
    /// `Upload-Offset` in bytes, 0 to `largest`.
    public var offset: Int64?
    /// `Upload-Length` in bytes, 0 to `largest`.
    public var length: Int64?
    /// `Upload-Limit`.
    public var limits: UploadLimits?

    /// Makes the fields.
    public init(isComplete: Bool? = nil, offset: Int64? = nil, length: Int64? = nil, limits: UploadLimits? = nil) {
        self.isComplete = isComplete
        self.offset = offset
        self.length = length
        self.limits = limits
    }
}
