import Testing
import Units

@Suite struct UnitReadingTests {
    @Test(arguments: [
        ("0 s", 0), ("1 ns", 1), ("1 us", 1_000), ("1 µs", 1_000), ("1 μs", 1_000), ("250 ms", 250_000_000),
        ("250ms", 250_000_000), ("250   ms", 250_000_000), ("0.1 ms", 100_000), ("0.3 s", 300_000_000),
        ("1.5 s", 1_500_000_000), ("0.000000001 s", 1), ("1.000 ns", 1), ("2 min", 120_000_000_000),
        ("0.1 min", 6_000_000_000), ("1 h", 3_600_000_000_000), ("007 s", 7_000_000_000),
        ("9223372036854775807 ns", Int64.max), ("9223372036.854775807 s", Int64.max),
    ])
    func `a duration is read exactly`(text: String, nanoseconds: Int64) throws {
        #expect(try Duration(parsing: text) == .nanoseconds(nanoseconds))
    }

    @Test(arguments: [
        ("0 B", 0), ("65536 B", 65_536), ("1 KB", 1_000), ("1 kB", 1_000), ("64 KiB", 65_536), ("1.5MB", 1_500_000),
        ("1 MiB", 1_048_576), ("2 GB", 2_000_000_000), ("1 GiB", 1_073_741_824), ("0.5 KiB", 512),
        ("1TB", 1_000_000_000_000), ("1.5 TiB", 1_649_267_441_664),
        ("0.000000000931322574615478515625 GiB", 1), ("9223372036854775807 B", Int64.max),
    ])
    func `a size is read exactly`(text: String, bytes: Int64) throws {
        #expect(try ByteCount(parsing: text).bytes == bytes)
    }

    @Test(arguments: [
        ("1 bit/s", 1), ("500 kbit/s", 500_000), ("20 Mbit/s", 20_000_000), ("1.5 Gbit/s", 1_500_000_000),
        ("1 B/s", 8), ("1 KB/s", 8_000), ("1 kB/s", 8_000), ("1 KiB/s", 8_192), ("1 MB/s", 8_000_000),
        ("1 MiB/s", 8_388_608), ("1 GB/s", 8_000_000_000), ("1 GiB/s", 8_589_934_592), ("0.125 B/s", 1),
    ])
    func `a rate is read exactly`(text: String, bitsPerSecond: Int64) throws {
        #expect(try BitRate(parsing: text).bitsPerSecond == bitsPerSecond)
    }

    @Test(arguments: [
        ("0 %", 0), ("2 %", 0.02), ("2%", 0.02), ("0.5 %", 0.005), ("33.3 %", 0.333), ("99.9 %", 0.999), ("100 %", 1),
        ("100.00 %", 1), ("007 %", 0.07),
    ])
    func `a chance is the fraction nearest to its percentage`(text: String, fraction: Double) throws {
        #expect(try Probability(parsing: text).fraction == fraction)
    }

    @Test(arguments: [
        ("", "the text is empty", "write a number and a unit, such as “250 ms”"),
        ("250", "“250” has no unit", "write “250 ms” or “250 s”"),
        ("250 MS", "“250 MS” has the unknown unit “MS”", "write “250 ms”"),
        ("5 sec", "“5 sec” has the unknown unit “sec”", "write “5 s”"),
        ("5 m", "“5 m” has the unknown unit “m”", "write “5 min” or “5 ms”"),
        ("5 parsecs", "“5 parsecs” has the unknown unit “parsecs”", "use one of ns, us, ms, s, min, h"),
        ("64 KiB", "“64 KiB” is a size, not a duration", "write a duration, such as “250 ms”"),
        ("-5 ms", "“-5 ms” is negative", "write zero or more, such as “250 ms”"),
        ("+5 ms", "“+5 ms” begins with a plus sign", "write “5 ms”"),
        (".5 s", "“.5 s” has no digit before the point", "write “0.5 s”"),
        (".5 s\n", "“.5 s\\u{a}” has no digit before the point", "write “0.5 s\\u{a}”"),
        ("5. s", "“5. s” has no digit after the point", "write “5 s”"),
        (
            "1,5 s", "“1,5 s” has “,” among its digits",
            "write digits only, with “.” for the decimal point, such as “250 ms”"
        ),
        ("1e3 ms", "“1e3 ms” has an exponent", "write the number out, such as “250 ms”"),
        (" 5 s", "“ 5 s” begins or ends with a space", "write “5 s”"),
        ("  ", "“  ” begins or ends with a space", "write “250 ms”"),
        ("soon", "“soon” doesn't begin with a number", "write a number and a unit, such as “250 ms”"),
        ("٥ s", "“٥ s” doesn't begin with a number", "write a number and a unit, such as “250 ms”"),
        ("0.5 ns", "“0.5 ns” is finer than 1 ns", "write a multiple of 1 ns, such as “1 ns”"),
        ("1.0005 us", "“1.0005 us” is finer than 1 ns", "write a multiple of 1 ns, such as “1 us”"),
        (
            "9223372036854775808 ns", "“9223372036854775808 ns” is too large",
            "write a duration of at most “9223372036854775807 ns”"
        ),
        (
            "9223372036.854775808 s", "“9223372036.854775808 s” is too large",
            "write a duration of at most “9223372036854775807 ns”"
        ),
        ("5 s\n", "“5 s\\u{a}” has the unknown unit “s\\u{a}”", "write “5 s”"),
    ])
    func `a bad duration says what is wrong and what to write`(text: String, problem: String, remedy: String) {
        #expect(throws: UnitError(problem: problem, remedy: remedy)) { try Duration(parsing: text) }
    }

    @Test(arguments: [
        ("65536", "“65536” has no unit", "write “65536 B” or “64 KiB”"),
        ("250", "“250” has no unit", "write “250 B” or “250 KiB”"),
        ("64 kib", "“64 kib” has the unknown unit “kib”", "write “64 KiB”"),
        ("64 Kb", "“64 Kb” has the unknown unit “Kb”", "write “64 KiB” or “64 KB”"),
        ("1 M", "“1 M” has the unknown unit “M”", "write “1 MiB” or “1 MB”"),
        ("1 \u{212A}B", "“1 \u{212A}B” has the unknown unit “\u{212A}B”", "write “1 KiB” or “1 KB”"),
        ("0.5 B", "“0.5 B” is finer than 1 B", "write a multiple of 1 B, such as “1 B”"),
        ("20 Mbit/s", "“20 Mbit/s” is a rate, not a size", "write a size, such as “64 KiB”"),
        ("9000000000000 GB", "“9000000000000 GB” is too large", "write a size of at most “9223372036854775807 B”"),
    ])
    func `a bad size says what is wrong and what to write`(text: String, problem: String, remedy: String) {
        #expect(throws: UnitError(problem: problem, remedy: remedy)) { try ByteCount(parsing: text) }
    }

    @Test(arguments: [
        ("20", "“20” has no unit", "write “20 kbit/s” or “20 Mbit/s”"),
        ("20 kbps", "“20 kbps” has the unknown unit “kbps”", "write “20 kbit/s” or “20 KB/s”"),
        ("20 KBps", "“20 KBps” has the unknown unit “KBps”", "write “20 kbit/s” or “20 KB/s”"),
        ("20 Mbps", "“20 Mbps” has the unknown unit “Mbps”", "write “20 Mbit/s” or “20 MB/s”"),
        ("20 mbit/s", "“20 mbit/s” has the unknown unit “mbit/s”", "write “20 Mbit/s”"),
        ("20 MB", "“20 MB” is a size, not a rate", "write “20 MB/s”"),
        ("20 ms", "“20 ms” is a duration, not a rate", "write a rate, such as “20 Mbit/s”"),
        ("0.01 B/s", "“0.01 B/s” is finer than 1 bit/s", "write a multiple of 1 bit/s, such as “1 bit/s”"),
    ])
    func `a bad rate says what is wrong and what to write`(text: String, problem: String, remedy: String) {
        #expect(throws: UnitError(problem: problem, remedy: remedy)) { try BitRate(parsing: text) }
    }

    @Test(arguments: [
        ("0.02", "“0.02” has no percent sign", "write “2 %”"),
        ("0.005", "“0.005” has no percent sign", "write “0.5 %”"),
        ("2", "“2” has no percent sign", "write “2 %”"),
        ("1", "“1” has no percent sign", "write “1 %”"),
        ("101 %", "“101 %” is more than 100 %", "write “100 %” or less"),
        (
            "100.00000000000000000000001 %", "“100.00000000000000000000001 %” is more than 100 %",
            "write “100 %” or less"
        ),
        ("99999999999999999999999 %", "“99999999999999999999999 %” is more than 100 %", "write “100 %” or less"),
        ("2 percent", "“2 percent” has the unknown unit “percent”", "write “2 %”"),
        ("2 s", "“2 s” is not a chance", "write a chance in percent, such as “2 %”"),
        ("-2 %", "“-2 %” is negative", "write zero or more, such as “2 %”"),
    ])
    func `a bad chance says what is wrong and what to write`(text: String, problem: String, remedy: String) {
        #expect(throws: UnitError(problem: problem, remedy: remedy)) { try Probability(parsing: text) }
    }

    @Test func `a text of more than 400 characters is refused, one of 400 is read`() throws {
        let longest = String(repeating: "0", count: 397) + "5 s"
        #expect(try Duration(parsing: longest) == .seconds(5))
        #expect(throws: UnitError.self) { try Duration(parsing: "0" + longest) }
    }

    @Test func `a message shows no more than 40 characters of a text`() {
        #expect(
            throws: UnitError(
                problem: "“" + String(repeating: "x", count: 40) + "…” doesn't begin with a number",
                remedy: "write a number and a unit, such as “250 ms”"
            )
        ) { try Duration(parsing: String(repeating: "x", count: 300)) }
    }
}
