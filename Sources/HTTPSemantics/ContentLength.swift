/// The value of a `Content-Length` field (RFC 9110, section 8.6).
public enum ContentLength {
    /// Reads a field value: digits, with spaces and tabs around them, which HTTP/1 parsers may leave in place (RFC 9110, section 5.5).
    ///
    /// `nil` for everything else, a list, a sign and a number of 2^63 or more included. A server answers that with a 400 and
    /// closes the connection: where the content ends isn't known (RFC 9112, section 6.3).
    public static func parse(_ value: String) -> Int64? {
        let bytes = value.utf8
        let isSpace: (UInt8) -> Bool = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return nil }
        let digits = value[first...last]
        guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(digits)
    }
}
