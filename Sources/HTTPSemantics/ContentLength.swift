/// The value of a `Content-Length` field (RFC 9110, section 8.6).
public enum ContentLength {
    /// Parses a field value: digits, optionally surrounded by spaces and tabs, which HTTP/1 parsers may leave in place
    /// (RFC 9110, section 5.5).
    ///
    /// Returns `nil` for everything else, including a list, a sign and a number of 2^63 or more. A server answers those
    /// with 400 and closes the connection: the end of the content is unknown (RFC 9112, section 6.3).
    public static func parse(_ value: String) -> Int64? {
        let bytes = value.utf8
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return nil }
        let digits = value[first...last]
        guard digits.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(digits)
    }
}
