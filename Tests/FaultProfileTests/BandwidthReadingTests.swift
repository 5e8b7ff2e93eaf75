import Testing
import Units

@testable import FaultProfile

@Suite struct BandwidthReadingTests {
    private let megabit = BitRate(bitsPerSecond: 1_000_000)

    @Test(arguments: [
        ("", Bandwidth.Scope.connection), (#", "shared": false"#, .connection), (#", "shared": true"#, .proxy),
        (#", "per": "connection""#, .connection), (#", "per": "client""#, .client), (#", "per": "proxy""#, .proxy),
        (#", "per": "global""#, .global),
    ])
    func `who shares a rate is said by one of two words`(key: String, scope: Bandwidth.Scope) throws {
        let read = try profile(
            "{ \"name\": \"x\", \"faults\": [ { \"kind\": \"bandwidth\", \"rate\": \"1 Mbit/s\"\(key) } ] }"
        )
        #expect(read.faults.map(\.kind) == [.bandwidth(Bandwidth(rate: megabit, scope: scope))])
    }

    @Test func `steps and a wave are read as they are written`() throws {
        let read = try profile(
            """
            { "name": "x", "faults": [
              { "kind": "bandwidth", "rate": "1 Mbit/s", "repeat": "10 s",
                "steps": [ { "after": "2 s", "rate": "2 Mbit/s" }, { "after": "5 s", "rate": "3 Mbit/s" } ] },
              { "kind": "bandwidth", "rate": "1 Mbit/s", "steps": [ { "after": "2 s", "rate": "2 Mbit/s" } ] },
              { "kind": "bandwidth", "burst": "1 KiB",
                "wave": { "low": "1 Mbit/s", "high": "2 Mbit/s", "period": "20 s" } } ] }
            """
        )
        let two = Bandwidth.Step(after: .seconds(2), rate: BitRate(bitsPerSecond: 2_000_000))
        let three = Bandwidth.Step(after: .seconds(5), rate: BitRate(bitsPerSecond: 3_000_000))
        #expect(
            read.faults.map(\.kind) == [
                .bandwidth(Bandwidth(rate: megabit, variation: .steps([two, three], repeats: .seconds(10)))),
                .bandwidth(Bandwidth(rate: megabit, variation: .steps([two], repeats: nil))),
                .bandwidth(
                    Bandwidth(
                        rate: megabit,
                        burst: .kibibytes(1),
                        variation: .wave(high: BitRate(bitsPerSecond: 2_000_000), period: .seconds(20))
                    )
                ),
            ]
        )
    }

    @Test(arguments: [
        ("", ["a bandwidth fault needs one of the keys “rate”, “wave” (add “\"rate\": \"20 Mbit/s\"”)"]),
        (
            #", "rate": "1 B/s", "shared": true, "per": "global""#,
            [
                "“shared” and “per” say the same twice (delete “shared”: true is “\"per\": \"proxy\"”, "
                    + "false is “\"per\": \"connection\"”)"
            ]
        ),
        (
            #", "rate": "1 B/s", "per": "server""#,
            [
                "“server” is not a value of “per” (its values are “connection”, “client”, “proxy”, “global”)"
            ]
        ),
        (#", "rate": "1 B/s", "steps": []"#, ["the list of steps is empty (delete it, or write a step)"]),
        (
            #", "rate": "1 B/s", "steps": [ { "after": "2 s", "rate": "1 B/s" }, { "after": "2 s", "rate": "2 B/s" } ]"#,
            [
                "the step at 2 s is no later than the one before, at 2 s "
                    + "(write the steps in order, each counted from the start)"
            ]
        ),
        (
            #", "rate": "1 B/s", "steps": [ { "after": "2 s", "rate": "0 B/s" } ]"#,
            ["“rate” is zero (write a rate above zero, or use a “stall” or an “outage” to let nothing pass)"]
        ),
        (
            #", "rate": "1 B/s", "repeat": "2 s", "steps": [ { "after": "2 s", "rate": "1 B/s" } ]"#,
            [
                "the steps start over at 2 s, before the last of them, at 2 s, has begun (write a longer “repeat”)"
            ]
        ),
        (
            #", "rate": "1 B/s", "repeat": "2 s""#,
            ["“repeat” without “steps” has nothing to repeat (delete it, or add “steps”)"]
        ),
        (
            #", "rate": "1 B/s", "wave": { "low": "1 B/s", "high": "2 B/s", "period": "1 s" }"#,
            ["“rate” and “wave” don't go together (delete one of them)"]
        ),
        (
            #", "wave": { "low": "2 bit/s", "high": "1 bit/s", "period": "25 h" }"#,
            [
                "the wave goes from 2 bit/s to 1 bit/s (write a “high” above the “low”, or a “rate” instead)",
                "the period 25 h is longer than 24 h (write a shorter one, or “steps” instead)",
            ]
        ),
        (
            #", "wave": { "low": "1 B/s", "hight": "2 B/s", "period": "0 s" }"#,
            [
                "“wave” needs the key “high” (add “\"high\": \"20 Mbit/s\"”)",
                "“wave” has no key “hight” (write “high”)",
                "“period” is zero (write a duration above zero, such as “250 ms”)",
            ]
        ),
    ])
    func `a mistake in a bandwidth is named`(keys: String, expected: [String]) {
        let found = problems(fault: "{ \"kind\": \"bandwidth\"\(keys) }")
        #expect(found.map { $0.replacing(#/^2:\d+: /#, with: "") } == expected)
    }

    @Test func `256 steps are read and one more is a problem`() throws {
        func faults(_ count: Int) -> String {
            let steps = (1...count).map { "{ \"after\": \"\($0) s\", \"rate\": \"1 B/s\" }" }.joined(separator: ",\n")
            return
                "{ \"name\": \"x\", \"faults\": [ { \"kind\": \"bandwidth\", \"rate\": \"1 B/s\",\"steps\": [\(steps)] } ] }"
        }
        #expect(try profile(faults(256)).faults.count == 1)
        #expect(problems(faults(257)) == ["257:1: there are more than 256 steps of this rate (delete some)"])
    }
}
