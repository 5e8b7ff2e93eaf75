/// A second of the proleptic Gregorian calendar in UTC, years 0 to 9999.
struct CivilDate {
    static let monthNames = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    static let dayNames = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    static let longDayNames = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let secondsPerDay: Int64 = 86_400

    var year: Int64
    var month: Int64
    var day: Int64
    var hour: Int64 = 0
    var minute: Int64 = 0
    var second: Int64 = 0

    init(secondsSinceEpoch: Int64) {
        let days = (secondsSinceEpoch - secondsSinceEpoch.euclideanRemainder(Self.secondsPerDay)) / Self.secondsPerDay
        let secondOfDay = secondsSinceEpoch.euclideanRemainder(Self.secondsPerDay)
        // Eras of 400 years that start on 1 March, so that the leap day is the last day of its year.
        let shifted = days + 719_468
        let era = (shifted - shifted.euclideanRemainder(146_097)) / 146_097
        let dayOfEra = shifted.euclideanRemainder(146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = secondOfDay / 3_600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
    }

    var secondsSinceEpoch: Int64 {
        daysSinceEpoch * Self.secondsPerDay + hour * 3_600 + minute * 60 + second
    }

    var dayName: String {
        // 1970-01-01 was a Thursday, index 3 of the names.
        Self.dayNames[Int((daysSinceEpoch + 3).euclideanRemainder(7))]
    }

    private var daysSinceEpoch: Int64 {
        let yearFromMarch = month <= 2 ? year - 1 : year
        let yearOfEra = yearFromMarch.euclideanRemainder(400)
        let era = (yearFromMarch - yearOfEra) / 400
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}

// The three formats of RFC 9110, section 5.6.7, distinguished by the characters after the day name: "Sun, 06 Nov 1994
// 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994".
extension CivilDate {
    init?(_ scanner: inout FieldScanner) {
        if scanner.skipFirst(of: Self.longDayNames) != nil {
            guard scanner.skip(", ") else { return nil }
            self.init(afterDayName: &scanner, separator: "-", yearDigits: 2)
        } else if scanner.skipFirst(of: Self.dayNames) != nil {
            if scanner.skip(", ") {
                self.init(afterDayName: &scanner, separator: " ", yearDigits: 4)
            } else {
                self.init(asctimeAfterDayName: &scanner)
            }
        } else {
            return nil
        }
    }

    private init?(afterDayName scanner: inout FieldScanner, separator: String, yearDigits: Int) {
        guard let day = scanner.number(digits: 2), scanner.skip(separator),
            let month = scanner.skipFirst(of: Self.monthNames), scanner.skip(separator),
            let year = scanner.number(digits: yearDigits), scanner.skip(" "),
            let time = scanner.timeOfDay(), scanner.skip(" GMT")
        else { return nil }
        let century: Int64 = yearDigits > 2 ? 0 : year < 70 ? 2000 : 1900
        self.init(year: century + year, month: Int64(month) + 1, day: day, time: time)
    }

    private init?(asctimeAfterDayName scanner: inout FieldScanner) {
        guard scanner.skip(" "), let month = scanner.skipFirst(of: Self.monthNames), scanner.skip(" ") else {
            return nil
        }
        let dayDigits = scanner.skip(" ") ? 1 : 2
        guard let day = scanner.number(digits: dayDigits), scanner.skip(" "),
            let time = scanner.timeOfDay(), scanner.skip(" "), let year = scanner.number(digits: 4)
        else { return nil }
        self.init(year: year, month: Int64(month) + 1, day: day, time: time)
    }

    private init?(year: Int64, month: Int64, day: Int64, time: (hour: Int64, minute: Int64, second: Int64)) {
        let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let daysInMonth: [Int64] = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard (1...12).contains(month), (1...daysInMonth[Int(month) - 1]).contains(day) else { return nil }
        guard time.hour < 24, time.minute < 60, time.second <= 60 else { return nil }
        self.year = year
        self.month = month
        self.day = day
        (hour, minute, second) = time
    }
}

extension FieldScanner {
    fileprivate mutating func timeOfDay() -> (hour: Int64, minute: Int64, second: Int64)? {
        guard let hour = number(digits: 2), skip(":"), let minute = number(digits: 2), skip(":"),
            let second = number(digits: 2)
        else { return nil }
        return (hour, minute, second)
    }
}

extension Int64 {
    /// The remainder of division by a positive number; never negative.
    fileprivate func euclideanRemainder(_ divisor: Int64) -> Int64 {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
