import Testing
import Units

@Suite struct DurationSpreadTests {
    @Test(
        arguments: [
            ("200ms", .milliseconds(200), nil), ("1.5 s", .milliseconds(1_500), nil),
            ("200ms±50ms", .milliseconds(200), .milliseconds(50)),
            ("200 ms ± 50 ms", .milliseconds(200), .milliseconds(50)),
            ("200ms+-50ms", .milliseconds(200), .milliseconds(50)), ("1 s  +-  0 s", .seconds(1), .zero),
        ] as [(String, Duration, Duration?)]
    )
    func `a duration may have a deviation`(text: String, middle: Duration, deviation: Duration?) throws {
        let spread = try DurationSpread(parsing: text)
        #expect(spread == DurationSpread(middle, deviation: deviation))
        #expect(try DurationSpread(parsing: spread.text) == spread)
    }

    @Test(arguments: [
        ("200±50ms", "“200” has no unit"), ("200ms±50", "“50” has no unit"), ("200ms±", "the text is empty"),
        ("±50ms", "the text is empty"), ("200ms±5ms±5ms", "“5ms±5ms” has the unknown unit “ms±5ms”"),
        ("200ms ±5ms ", "“5ms ” begins or ends with a space"), ("200ms-50ms", "“200ms-50ms” has the unknown unit"),
    ])
    func `anything else is an error about the wrong part`(text: String, problem: String) {
        let error = #expect(throws: UnitError.self) { try DurationSpread(parsing: text) }
        #expect(error?.problem.hasPrefix(problem) == true, "\(error?.problem ?? "")")
    }
}

@Suite struct LoopbackAddressTests {
    @Test(arguments: [
        (":5432", "127.0.0.1:5432"), (":0", "127.0.0.1:0"), (":", "127.0.0.1:"), ("", ""), ("::1", "::1"),
        ("localhost:80", "localhost:80"), ("[::1]:80", "[::1]:80"), ("unix:/s", "unix:/s"),
    ])
    func `a port alone gets the loopback host`(text: String, address: String) {
        #expect(LoopbackAddress.completing(text) == address)
    }
}
