import RawStructuredFieldValues

/// Items of structured fields (RFC 9651, section 3.3).
package enum StructuredItem {
    /// The largest integer: 15 digits (RFC 9651, section 3.3.1).
    package static let largestInteger: Int64 = 999_999_999_999_999

    /// A boolean, `?1` or `?0`; parameters are skipped.
    package static func boolean(_ headerValue: String?) -> Bool? {
        guard case .bool(let value) = item(headerValue) else { return nil }
        return value
    }

    /// A non-negative integer; parameters are skipped.
    package static func count(_ headerValue: String?) -> Int64? {
        guard case .integer(let value) = item(headerValue), value >= 0 else { return nil }
        return value
    }

    /// An integer as a field value, clamped to 0...`largestInteger`.
    package static func text(_ count: Int64) -> String { String(min(max(0, count), largestInteger)) }

    private static func item(_ headerValue: String?) -> RFC9651BareItem? {
        guard let headerValue else { return nil }
        var parser = StructuredFieldValueParser(Array(headerValue.utf8))
        return try? parser.parseItemFieldValue().rfc9651BareItem
    }
}
