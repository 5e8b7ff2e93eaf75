import Testing
import Units

@testable import FaultProfile

@Suite struct ProfileReadingTests {
    @Test func `a profile of every kind is read as it is written`() throws {
        let text = """
            {
              "$schema": "profile.schema.json", "name": "all", "summary": "Everything", "seed": 18446744073709551615,
              "proxies": [ { "name": "web", "listen": "127.0.0.1:0", "upstream": "[::1]:80" } ],
              "faults": [
                { "kind": "latency", "delay": "4 ms", "jitter": "8 ms", "distribution": "normal" },
                { "kind": "bandwidth", "stream": "downstream", "rate": "20 Mbit/s", "burst": "64 KiB", "shared": true },
                { "kind": "cut", "at": "0 B", "how": "close", "of": "connection", "when": { "connection": "1..2" } },
                { "kind": "cut", "stream": "upstream", "at": ["1 KiB", "2 KiB"], "when": { "connection": "3.." } }
              ],
              "phases": [
                { "name": "here", "for": "1.5 s",
                  "faults": [
                    { "kind": "cut", "every": "1 MiB", "when": { "connection": { "every": 3 }, "chance": "20 %" } },
                    { "kind": "cut", "between": ["1 MB", "1 MB"], "when": { "age": "5 s..10 s" } },
                    { "kind": "stall", "name": "nap", "for": "2 s", "when": { "age": "..10 s" } },
                    { "kind": "stall", "at": "1 KB", "for": "2 s", "when": { "age": "5 s", "connection": 3 } } ] },
                { "name": "gone",
                  "faults": [
                    { "kind": "outage", "how": "silence", "stream": "upstream", "when": { "age": "5 s.." } } ] }
              ],
              "repeat": true
            }
            """
        let always: [Fault] = [
            Fault(
                name: "latency",
                kind: .latency(Latency(delay: .milliseconds(4), jitter: .milliseconds(8), distribution: .normal))
            ),
            Fault(
                name: "bandwidth",
                stream: .downstream,
                kind: .bandwidth(
                    Bandwidth(rate: BitRate(bitsPerSecond: 20_000_000), burst: .kibibytes(64), scope: .proxy)
                )
            ),
            Fault(
                name: "cut",
                condition: Condition(connections: .range(1...2)),
                kind: .cut(Cut(position: .at(.zero), how: .close))
            ),
            Fault(
                name: "cut-2",
                stream: .upstream,
                condition: Condition(connections: .range(3...UInt64.max)),
                kind: .cut(Cut(position: .inTurn([.kibibytes(1), .kibibytes(2)]), how: .reset))
            ),
        ]
        let here: [Fault] = [
            Fault(
                name: "here/cut",
                condition: Condition(connections: .every(3), chance: try #require(Probability(0.2))),
                kind: .cut(Cut(position: .every(.mebibytes(1)), how: .reset))
            ),
            Fault(
                name: "here/cut-2",
                condition: Condition(ageFrom: .seconds(5), ageUntil: .seconds(10)),
                kind: .cut(Cut(position: .between(ByteCount(1_000_000), ByteCount(1_000_000)), how: .reset))
            ),
            Fault(
                name: "nap",
                condition: Condition(ageUntil: .seconds(10)),
                kind: .stall(Stall(at: .zero, duration: .seconds(2)))
            ),
            Fault(
                name: "here/stall-2",
                condition: Condition(connections: .range(3...3), ageFrom: .seconds(5)),
                kind: .stall(Stall(at: ByteCount(1_000), duration: .seconds(2)))
            ),
        ]
        let gone = Fault(
            name: "gone/outage",
            stream: .upstream,
            condition: Condition(ageFrom: .seconds(5)),
            kind: .outage(Outage(how: .silence))
        )
        let expected = Profile(
            name: "all",
            summary: "Everything",
            seed: .max,
            proxies: [ProxyDefinition(name: "web", listen: "127.0.0.1:0", upstream: "[::1]:80")],
            faults: always,
            phases: [
                Phase(name: "here", duration: .milliseconds(1_500), faults: here),
                Phase(name: "gone", faults: [gone]),
            ],
            repeats: true
        )
        #expect(try profile(text) == expected)
    }

    @Test func `a profile needs no more than a name`() throws {
        #expect(try profile("{ \"name\": \"plain\" }") == Profile(name: "plain"))
    }

    @Test func `what a fault leaves out has its default`() throws {
        let read = try profile(
            """
            { "name": "x", "faults": [
              { "kind": "latency", "delay": "0 s" }, { "kind": "bandwidth", "rate": "1 bit/s" },
              { "kind": "cut", "at": "1 B" }, { "kind": "stall", "for": "1 ns" } ] }
            """
        )
        #expect(
            read.faults.map(\.kind) == [
                .latency(Latency(delay: .zero, jitter: .zero, distribution: .uniform)),
                .bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: 1), burst: .zero, scope: .connection)),
                .cut(Cut(position: .at(ByteCount(1)), how: .reset)),
                .stall(Stall(at: .zero, duration: .nanoseconds(1))),
            ]
        )
        #expect(read.faults.allSatisfy { $0.stream == .both && $0.condition == Condition() })
    }

    @Test(arguments: [("0", 0), ("-0", 0), ("7", 7), ("7.0", 7), ("1e3", 1_000), ("1.5E+1", 15), ("100e-2", 1)])
    func `a whole number is one however JSON writes it`(text: String, seed: UInt64) throws {
        #expect(try profile("{ \"name\": \"x\", \"seed\": \(text) }").seed == seed)
    }

    @Test(arguments: [
        "0.5", "1e-1", "1e20", "1e999999999999999999999", "1e-999999999999999999999", "-1e0",
        "1e-9223372036854775808", "1e9223372036854775807",
    ])
    func `a number that is not whole or not in range is refused`(text: String) {
        #expect(problems("{ \"name\": \"x\", \"seed\": \(text) }").count == 1)
    }
}
