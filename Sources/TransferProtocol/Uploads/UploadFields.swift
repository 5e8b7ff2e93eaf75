import HTTPSemantics
import HTTPTypes

/// The resumable upload fields of a message, in one dialect.
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

    /// Parses the fields of a message. Ignores fields that the dialect lacks.
    public init(_ fields: HTTPFields, in dialect: UploadDialect) {
        let rules = dialect.rules
        isComplete = StructuredItem.boolean(fields[rules.flag.fieldName]).map { rules.flag.value(isComplete: $0) }
        offset = StructuredItem.count(fields[.uploadOffset])
        length = rules.hasLengthField ? StructuredItem.count(fields[.uploadLength]) : nil
        limits = fields[.uploadLimit].flatMap { UploadLimits($0, in: dialect) }
    }

    /// Writes the fields that are set and that the dialect has. Offset and length are clamped to 0...`largest`.
    public func write(to fields: inout HTTPFields, in dialect: UploadDialect) {
        let rules = dialect.rules
        if let isComplete {
            fields[rules.flag.fieldName] = rules.flag.value(isComplete: isComplete) ? "?1" : "?0"
        }
        if let offset { fields[.uploadOffset] = StructuredItem.text(offset) }
        if rules.hasLengthField, let length { fields[.uploadLength] = StructuredItem.text(length) }
        if let limits = limits?.headerValue(in: dialect) { fields[.uploadLimit] = limits }
    }

    /// `Upload-Draft-Interop-Version`; `nil` when absent or not a non-negative integer.
    public static func interopVersion(of fields: HTTPFields) -> Int64? {
        StructuredItem.count(fields[.uploadDraftInteropVersion])
    }
}

extension UploadDialect {
    /// The value of `Upload-Draft-Interop-Version` that names this dialect.
    public var interopVersionValue: String { String(rawValue) }
}
