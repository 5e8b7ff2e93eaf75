import Testing

@testable import FaultProfile

/// What comes again and again comes no more often than a proxy can follow.
@Suite struct PeriodTests {
    /// The keys, each in a place where T is its value.
    private static let places = [
        ("for", #""phases": [ { "name": "a", "for": "T" } ]"#),
        ("on", #""faults": [ { "kind": "stall", "for": "1 s", "when": { "duty": { "on": "T", "off": "1 s" } } } ]"#),
        ("off", #""faults": [ { "kind": "stall", "for": "1 s", "when": { "duty": { "on": "1 s", "off": "T" } } } ]"#),
        (
            "repeat",
            #""faults": [ { "kind": "bandwidth", "rate": "1 B/s", "repeat": "T", "#
                + #""steps": [ { "after": "1 us", "rate": "2 B/s" } ] } ]"#
        ),
        (
            "period",
            #""faults": [ { "kind": "bandwidth", "wave": { "low": "1 B/s", "high": "2 B/s", "period": "T" } } ]"#
        ),
        (
            "every",
            #""faults": [ { "kind": "latency", "delay": "1 s", "#
                + #""spikes": { "every": "T", "for": "1 us", "extra": "1 s" } } ]"#
        ),
    ]

    @Test(arguments: places)
    func `a time that comes again and again has a millisecond at least, and the problem says what to write`(
        key: String,
        text: String
    ) {
        func found(_ time: String) -> [String] {
            problems("{ \"name\": \"x\", \(text.replacing("T", with: time)) }")
        }
        #expect(found("1 ms") == [] && found("1000000 ns") == [])
        for (time, shown) in [("999999 ns", "999999 ns"), ("2 us", "2 us")] {
            let what =
                "“\(key)” is \(shown), and the shortest time that comes again and again is 1 ms (write “1 ms” or more)"
            #expect(found(time).count == 1)
            #expect(found(time).first?.hasSuffix(": \(what)") == true, "\(found(time))")
        }
    }
}
