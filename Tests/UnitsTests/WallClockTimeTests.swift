import Testing
import Units

@Suite struct WallClockTimeTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.000000001Z", 1), ("1970-01-01t01:00:00+01:00", 0),
        ("2026-11-21T18:00:00Z", 1_795_284_000_000_000_000), ("2026-11-21T18:00:00.25z", 1_795_284_000_250_000_000),
        ("2026-11-21T13:30:00-04:30", 1_795_284_000_000_000_000), ("2000-02-29T23:59:60Z", 951_868_800_000_000_000),
        ("2024-12-31T23:59:59Z", 1_735_689_599_000_000_000), ("2100-03-01T00:00:00Z", 4_107_542_400_000_000_000),
        ("2199-12-31T23:59:59.999999999Z", 7_258_118_399_999_999_999),
    ])
    func `a time of RFC 3339 is read exactly`(text: String, nanoseconds: Int64) throws {
        #expect(try WallClockTime(parsing: text).nanoseconds == nanoseconds)
    }

    @Test(arguments: [
        ("now", "“now” is not a time of RFC 3339"), ("", "“” is not a time of RFC 3339"),
        ("18:00", "“18:00” is not a time of RFC 3339"),
        ("2026-11-21 18:00:00Z", "“2026-11-21 18:00:00Z” is not a time of RFC 3339"),
        ("2026-11-21T18:00Z", "“2026-11-21T18:00Z” is not a time of RFC 3339"),
        ("2026-11-21T18:00:00", "“2026-11-21T18:00:00” has no time zone"),
        ("2026-11-21T18:00:00.Z", "“2026-11-21T18:00:00.Z” is not a time of RFC 3339"),
        ("2026-11-21T18:00:00.1234567890Z", "“2026-11-21T18:00:00.1234567890Z” is not a time of RFC 3339"),
        ("2026-11-21T18:00:00+0100", "“2026-11-21T18:00:00+0100” is not a time of RFC 3339"),
        ("2026-11-21T18:00:00ZZ", "“2026-11-21T18:00:00ZZ” is not a time of RFC 3339"),
        ("2026-11-21T24:00:00Z", "“2026-11-21T24:00:00Z” is no day or no time of the years 1970 to 2199"),
        ("2026-02-29T18:00:00Z", "“2026-02-29T18:00:00Z” is no day or no time of the years 1970 to 2199"),
        ("2026-13-01T18:00:00Z", "“2026-13-01T18:00:00Z” is no day or no time of the years 1970 to 2199"),
        ("1969-12-31T18:00:00Z", "“1969-12-31T18:00:00Z” is no day or no time of the years 1970 to 2199"),
    ])
    func `a time that is none says so, and what to write`(text: String, problem: String) {
        let error = #expect(throws: UnitError.self) { try WallClockTime(parsing: text) }
        #expect(error?.problem == problem)
        #expect(error?.remedy.isEmpty == false)
    }
}
