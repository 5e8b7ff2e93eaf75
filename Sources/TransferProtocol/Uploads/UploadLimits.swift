import HTTPSemantics
import RawStructuredFieldValues

/// The limits that a server sets to an upload (`Upload-Limit`).
public struct UploadLimits: Hashable, Sendable {
    /// The most bytes of a representation.
    public var maximumSize: Int64?
    /// The fewest bytes of a representation.
    public var minimumSize: Int64?
    /// The most bytes of the content of one request.
    public var maximumAppendSize: Int64?
    /// The fewest bytes of the content of one request, the last one excepted.
    public var minimumAppendSize: Int64?
    /// The seconds that the upload lives from now on.
    public var lifetime: Int64?

    /// Makes limits; those that are `nil` aren't set.
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

    /// Reads a field value; several lines of the field are to be joined with commas.
    ///
    /// Unknown members are skipped. `nil` when the dialect has no limits, when the field is no dictionary, or when a
    /// known member isn't an integer from 0 on: the field then counts as absent.
    public init?(_ headerValue: String, in dialect: UploadDialect) {
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

    /// The limits as a field value; `min-size=0` where none is set. `nil` when the dialect has no limits.
    public func headerValue(in dialect: UploadDialect) -> String? {
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
