/// The least wait that a response asks for (RFC 9110, section 10.2.3).
public enum RetryAfter {
    /// Reads a `Retry-After` of seconds, or of a date as seen from `now`, the wall clock in seconds since 1970.
    ///
    /// `nil` when the value is neither. A date that has passed is a wait of zero; a number too large for `Int64` is
    /// the longest wait there is.
    public static func delay(_ headerValue: String, now: Int64) -> Duration? {
        if !headerValue.isEmpty, headerValue.utf8.allSatisfy({ (48...57).contains($0) }) {
            return .seconds(Int64(headerValue) ?? .max)
        }
        guard let date = HTTPDate(headerValue) else { return nil }
        let (wait, overflow) = date.secondsSinceEpoch.subtractingReportingOverflow(now)
        return .seconds(overflow ? (now < 0 ? .max : 0) : max(0, wait))
    }
}
