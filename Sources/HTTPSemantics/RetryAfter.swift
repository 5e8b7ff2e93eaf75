/// The minimum delay that a response asks for (RFC 9110, section 10.2.3).
public enum RetryAfter {
    /// The longest delay in seconds: 2³¹, 68 years.
    private static let longest: Int64 = 1 << 31

    /// Parses a `Retry-After` of seconds, or of a date relative to `now`, the wall clock in seconds since 1970.
    ///
    /// Returns `nil` when the value is neither. A past date is a delay of zero, and the longest delay is `longest`.
    public static func delay(_ headerValue: String, now: Int64) -> Duration? {
        if !headerValue.isEmpty, headerValue.utf8.allSatisfy(\.isDigit) {
            return .seconds(min(Int64(headerValue) ?? longest, longest))
        }
        guard let date = HTTPDate(headerValue) else { return nil }
        let (wait, overflow) = date.secondsSinceEpoch.subtractingReportingOverflow(now)
        return .seconds(overflow ? (now < 0 ? longest : 0) : min(max(0, wait), longest))
    }
}
