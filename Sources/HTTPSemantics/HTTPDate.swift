/// A point in time in HTTP's format: whole seconds in UTC (RFC 9110, section 5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable {
    /// Seconds since 1970-01-01 00:00:00 UTC without leap seconds. May be negative.
    public var secondsSinceEpoch: Int64

    /// Makes the date `secondsSinceEpoch` seconds after 1970-01-01 00:00:00 UTC.
    public init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Parses a field value in any of the three formats that a recipient must accept: IMF-fixdate, RFC 850 and asctime.
    ///
    /// A two-digit year means 1970 to 2069, as in POSIX. The day name must be valid but isn't checked against the date.
    /// A leap second is read as the second after it. Returns `nil` for everything else, including a list of dates.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        guard let civil = CivilDate(&scanner), scanner.isAtEnd else { return nil }
        secondsSinceEpoch = civil.secondsSinceEpoch
    }

    /// The date as an IMF-fixdate, the only format that is sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// The format has four-digit years: dates are clamped to years 0 to 9999.
    public var headerValue: String {
        let civil = CivilDate(secondsSinceEpoch: clamped.secondsSinceEpoch)
        let date = "\(civil.day.padded(2)) \(CivilDate.monthNames[Int(civil.month) - 1]) \(civil.year.padded(4))"
        let time = "\(civil.hour.padded(2)):\(civil.minute.padded(2)):\(civil.second.padded(2))"
        return "\(civil.dayName), \(date) \(time) GMT"
    }

    /// Whether `left` is earlier.
    public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }

    private var clamped: HTTPDate {
        HTTPDate(secondsSinceEpoch: min(max(secondsSinceEpoch, -62_167_219_200), 253_402_300_799))
    }
}

extension Int64 {
    /// A non-negative number in decimal, zero-padded to `width` digits.
    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}
