import HTTPSemantics
import Testing

@Suite struct HTTPDateTests {
    @Test(
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ]
    )
    func `all three forms name the same second`(_ text: String) {
        #expect(HTTPDate(text)?.secondsSinceEpoch == 784_111_777)
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Int64(0)),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
            ("Sat, 01 Jan 0000 00:00:00 GMT", -62_167_219_200),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ]
    )
    func `a date is read and written alike`(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate(text)?.secondsSinceEpoch == seconds)
        #expect(HTTPDate(secondsSinceEpoch: seconds).headerValue == text)
    }

    @Test func `every day of four centuries comes back from its field value`() {
        var day: Int64 = -141_000
        while day < 146_097 - 141_000 {
            let date = HTTPDate(secondsSinceEpoch: day * 86_400 + day & 0xFFFF)
            #expect(HTTPDate(date.headerValue) == date)
            day += 97
        }
    }

    @Test func `a leap second is the second after it`() {
        #expect(
            HTTPDate("Sat, 31 Dec 2016 23:59:60 GMT") == HTTPDate("Sun, 01 Jan 2017 00:00:00 GMT")
        )
    }

    @Test func `dates beyond four digits of the year are written as the nearest that has four`() {
        #expect(HTTPDate(secondsSinceEpoch: .max).headerValue == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate(secondsSinceEpoch: .min).headerValue == "Sat, 01 Jan 0000 00:00:00 GMT")
    }

    @Test(
        arguments: [
            "", "0", "Sun", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Xxx, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "Sun Nov 06 08:49:37 94", "Sun, ٠٦ Nov 1994 08:49:37 GMT", "\"Sun, 06 Nov 1994 08:49:37 GMT\"",
            "Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
        ]
    )
    func `an invalid date is refused`(_ text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test func `the wrong day of the week doesn't matter`() {
        #expect(HTTPDate("Mon, 06 Nov 1994 08:49:37 GMT")?.secondsSinceEpoch == 784_111_777)
    }

    @Test func `a two-digit year lies from 1970 to 2069`() {
        #expect(HTTPDate("Sunday, 01-Jan-69 00:00:00 GMT")?.headerValue == "Tue, 01 Jan 2069 00:00:00 GMT")
        #expect(HTTPDate("Sunday, 01-Jan-70 00:00:00 GMT")?.headerValue == "Thu, 01 Jan 1970 00:00:00 GMT")
    }

    @Test func `dates are ordered by time`() {
        #expect(HTTPDate(secondsSinceEpoch: -1) < HTTPDate(secondsSinceEpoch: 0))
    }
}
