import HTTPSemantics
import RawStructuredFieldValues

/// The server's limits on an upload (`Upload-Limit`).
public struct UploadLimits: Hashable, Sendable {
    /// The maximum size of a representation.
    public var maximumSize: Int64?
    /// The minimum size of a representation.
    public var minimumSize: Int64?
    /// The maximum content size of a request.
    public var maximumAppendSize: Int64?
    /// The minimum content size of a request, except for the last.
    public var minimumAppendSize: Int64?
    /// The remaining lifetime of the upload in seconds.
    public var lifetime: Int64?

    /// Makes limits; `nil` means unlimited.
    public init(
        maximumSize: Int64? = nil,
        minimumSize: Int64? = nil,
        maximumAppendSize: Int64? = nil,
        minimumAppendSize: Int64? = nil,
        lifetime: Int64? = nil
    ) {
        self.maximumSize = maximumSize
        self.minimumSize = minimumSize
        self.maximumAppendSize = maximumAppendSize
        self.minimumAppendSize = minimumAppendSize
        self.lifetime = lifetime
    }

    /// Parses a field value; join several field lines with commas.
    ///
    /// Skips unknown members. Returns `nil` when the dialect has no limits, when the field isn't a dictionary, or when
    /// a known member isn't a non-negative integer: the field then counts as absent.
    public init?(_ headerValue: String, in dialect: UploadWireFormat) {
        guard let lifetimeKey = dialect.rules.lifetimeLimit else { return nil }
        var parser = StructuredFieldValueParser(Array(headerValue.utf8))
        guard let members = try? parser.parseDictionaryFieldValue() else { return nil }
        for (key, property) in Self.members(lifetimeKey) {
            guard let member = members[key] else { continue }
            guard case .item(let item) = member, case .integer(let value) = item.rfc9651BareItem, value >= 0 else {
                return nil
            }
            self[keyPath: property] = value
        }
    }

    /// The limits as a field value; `min-size=0` when none is set. `nil` when the dialect has no limits.
    public func headerValue(in dialect: UploadWireFormat) -> String? {
        guard let lifetimeKey = dialect.rules.lifetimeLimit else { return nil }
        let members = Self.members(lifetimeKey).compactMap { key, property in
            self[keyPath: property].map { "\(key)=\(StructuredItem.text($0))" }
        }
        return members.isEmpty ? "min-size=0" : members.joined(separator: ", ")
    }

    private static func members(_ lifetimeKey: String) -> [(String, WritableKeyPath<UploadLimits, Int64?>)] {
        [
            ("max-size", \.maximumSize), ("min-size", \.minimumSize), ("max-append-size", \.maximumAppendSize),
            ("min-append-size", \.minimumAppendSize), (lifetimeKey, \.lifetime),
        ]
    }
}
