/// The minimum delay that a response asks for (RFC 9110, section 10.2.3).
public enum RetryAfter {
    /// Parses a `Retry-After` of seconds, or of a date relative to `now`, the wall clock in seconds since 1970.
    ///
    /// Returns `nil` when the value is neither. A past date is a delay of zero; a number too large for `Int64`
    /// saturates.
    public static func delay(_ headerValue: String, now: Int64) -> Duration? {
        if !headerValue.isEmpty, headerValue.utf8.allSatisfy(\.isDigit) {
            return .seconds(Int64(headerValue) ?? .max)
        }
        guard let date = HTTPDate(headerValue) else { return nil }
        let (wait, overflow) = date.secondsSinceEpoch.subtractingReportingOverflow(now)
        return .seconds(overflow ? (now < 0 ? .max : 0) : max(0, wait))
    }
}
