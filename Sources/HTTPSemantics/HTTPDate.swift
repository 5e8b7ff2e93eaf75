/// A point in time as HTTP writes it: whole seconds, in UTC (RFC 9110, section 5.6.7).
public struct HTTPDate: Hashable, Comparable, Sendable {
    /// Seconds since 1970-01-01 00:00:00 UTC, leap seconds not counted. May be negative.
    public var secondsSinceEpoch: Int64

    /// Makes the date that lies `secondsSinceEpoch` seconds after 1970-01-01 00:00:00 UTC.
    public init(secondsSinceEpoch: Int64) {
        self.secondsSinceEpoch = secondsSinceEpoch
    }

    /// Reads a field value in any of the three forms that a recipient must accept: IMF-fixdate, RFC 850 and asctime.
    ///
    /// A two-digit year means 1970 to 2069, as in POSIX. The day of the week must be a name of a day, but needn't be
    /// the right one. A leap second is read as the second after it. `nil` for everything else, a list of dates included.
    public init?(_ headerValue: String) {
        var scanner = FieldScanner(headerValue)
        guard let civil = CivilDate(&scanner), scanner.isAtEnd else { return nil }
        secondsSinceEpoch = civil.secondsSinceEpoch
    }

    /// The date as an IMF-fixdate, the only form that is sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
    ///
    /// The form has four digits for the year: an earlier date is written as the first second of year 0, a later one as
    /// the last of year 9999.
    public var headerValue: String {
        let civil = CivilDate(secondsSinceEpoch: clamped.secondsSinceEpoch)
        let date = "\(civil.day.padded(2)) \(CivilDate.monthNames[Int(civil.month) - 1]) \(civil.year.padded(4))"
        let time = "\(civil.hour.padded(2)):\(civil.minute.padded(2)):\(civil.second.padded(2))"
        return "\(civil.dayName), \(date) \(time) GMT"
    }

    /// Whether `left` is the earlier.
    public static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.secondsSinceEpoch < right.secondsSinceEpoch
    }

    private var clamped: HTTPDate {
        HTTPDate(secondsSinceEpoch: min(max(secondsSinceEpoch, -62_167_219_200), 253_402_300_799))
    }
}

extension Int64 {
    /// This number, not negative, in decimal with zeros before it up to `width` digits.
    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}
