/// A point in UTC, without leap seconds.
public struct WallClockTime: Comparable, Hashable, Sendable {
    private static let example = "such as “2026-11-21T18:00:00Z”"
    /// The years that can be read.
    private static let years: ClosedRange<Int64> = 1970...2199
    private static let monthLengths: [Int64] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

    /// Nanoseconds since 1970-01-01T00:00:00Z.
    public let nanoseconds: Int64

    /// Makes a time.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Whether `left` is the earlier.
    public static func < (left: WallClockTime, right: WallClockTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Reads a time as RFC 3339, section 5.6, writes it: "2026-11-21T18:00:00Z", "2026-11-21T19:00:00.25+01:00".
    ///
    /// Years are 1970 to 2199, fractions have up to 9 digits. Second 60 is the first of the next minute. Throws for
    /// anything else, a time without an offset from UTC among it: that would be another one elsewhere.
    public init(parsing text: String) throws(UnitError) {
        var digits = Digits(rest: Array(text.utf8.prefix(64))[...])
        guard text.utf8.count <= 64, let year = digits.number(4), digits.skip("-"), let month = digits.number(2),
            digits.skip("-"), let day = digits.number(2), digits.skip("Tt"), let hour = digits.number(2),
            digits.skip(":"), let minute = digits.number(2), digits.skip(":"), let second = digits.number(2),
            let fraction = digits.fraction()
        else { throw WallClockTime.unreadable(text) }
        guard !digits.rest.isEmpty else {
            throw UnitError(problem: "\(text.quoted) has no time zone", remedy: "add Z for UTC, or one such as +01:00")
        }
        guard let offset = digits.offset(), digits.rest.isEmpty else { throw WallClockTime.unreadable(text) }
        guard WallClockTime.years.contains(year), (1...12).contains(month), hour < 24, minute < 60, second <= 60,
            (1...WallClockTime.length(ofMonth: month, year)).contains(day)
        else {
            throw UnitError(
                problem: "\(text.quoted) is no day or no time of the years 1970 to 2199",
                remedy: "write a date and a time that exist, \(WallClockTime.example)"
            )
        }
        let days = WallClockTime.days(before: month, year) + day - 1
        let seconds = ((days * 24 + hour) * 60 + minute - offset) * 60 + second
        nanoseconds = seconds * 1_000_000_000 + fraction
    }

    private static func unreadable(_ text: String) -> UnitError {
        UnitError(problem: "\(text.quoted) is not a time of RFC 3339", remedy: "write one \(example)")
    }

    private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    private static func length(ofMonth month: Int64, _ year: Int64) -> Int64 {
        month == 2 && isLeap(year) ? 29 : monthLengths[Int(month) - 1]
    }

    /// The days from 1970 until the first of a month.
    private static func days(before month: Int64, _ year: Int64) -> Int64 {
        let last = year - 1
        // Up to the end of 1969 there were 477 leap years.
        let leapDays = last / 4 - last / 100 + last / 400 - 477
        return (year - 1970) * 365 + leapDays + (1..<month).reduce(0) { $0 + length(ofMonth: $1, year) }
    }
}

/// The rest of a text being parsed.
private struct Digits {
    var rest: ArraySlice<UInt8>

    mutating func number(_ count: Int) -> Int64? {
        guard rest.count >= count else { return nil }
        var value: Int64 = 0
        for byte in rest.prefix(count) {
            guard (48...57).contains(byte) else { return nil }
            value = value * 10 + Int64(byte - 48)
        }
        rest = rest.dropFirst(count)
        return value
    }

    mutating func skip(_ characters: String) -> Bool {
        guard let first = rest.first, characters.utf8.contains(first) else { return false }
        rest = rest.dropFirst()
        return true
    }

    /// The nanoseconds after a decimal point; 0 without one.
    mutating func fraction() -> Int64? {
        guard skip(".") else { return 0 }
        let count = rest.prefix { (48...57).contains($0) }.count
        guard (1...9).contains(count), var value = number(count) else { return nil }
        for _ in count..<9 { value *= 10 }
        return value
    }

    /// The minutes that a time zone is ahead of UTC.
    mutating func offset() -> Int64? {
        if skip("Zz") { return 0 }
        let isAhead = rest.first == UInt8(ascii: "+")
        guard skip("+-"), let hours = number(2), skip(":"), let minutes = number(2), hours < 24, minutes < 60 else {
            return nil
        }
        return (hours * 60 + minutes) * (isAhead ? 1 : -1)
    }
}
