import HTTPTypes

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
        return .seconds(max(0, date.secondsSinceEpoch.subtractingSaturated(now)))
    }

    static func delay(_ head: DownloadResponseHead, now: Int64) -> Duration? {
        head.fields[.retryAfter].flatMap { delay($0, now: now) }
    }
}

extension HTTPField.Name {
    static let retryAfter = {
        guard let name = HTTPField.Name("Retry-After") else { preconditionFailure("“Retry-After” is a token") }
        return name
    }()
}
