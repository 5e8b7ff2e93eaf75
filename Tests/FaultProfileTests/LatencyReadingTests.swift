import Testing
import Units

@testable import FaultProfile

@Suite struct LatencyReadingTests {
    @Test func `every key of a latency is read as it is written`() throws {
        let read = try profile(
            """
            { "name": "x", "faults": [
              { "kind": "latency", "delay": "40 ms", "jitter": "8 ms", "distribution": "pareto", "correlation": "25 %",
                "minimum": "35 ms",
                "spikes": { "every": "10 s", "for": "500 ms", "extra": "300 ms", "behind": true, "per": "proxy" } },
              { "kind": "latency", "delay": "40 ms", "distribution": "log-normal" },
              { "kind": "latency", "quantiles": ["20 ms", "30 ms", "90 ms"] } ] }
            """
        )
        let first = Latency(
            delay: .milliseconds(40),
            jitter: .milliseconds(8),
            distribution: .pareto,
            correlation: try #require(Probability(0.25)),
            minimum: .milliseconds(35),
            spikes: .init(
                every: .seconds(10),
                duration: .milliseconds(500),
                extra: .milliseconds(300),
                isBehind: true,
                scope: .proxy
            )
        )
        let table: [Duration] = [.milliseconds(20), .milliseconds(30), .milliseconds(90)]
        #expect(
            read.faults.map(\.kind) == [
                .latency(first), .latency(Latency(delay: .milliseconds(40), distribution: .logNormal)),
                .latency(Latency(delay: .zero, distribution: .quantiles(table))),
            ]
        )
    }

    @Test func `a delay may have its jitter`() throws {
        let read = try profile(
            """
            { "name": "x", "faults": [
              { "kind": "latency", "delay": "40 ms ± 8 ms" }, { "kind": "latency", "delay": "40ms+-8ms" } ] }
            """
        )
        let latency = FaultKind.latency(Latency(delay: .milliseconds(40), jitter: .milliseconds(8)))
        #expect(read.faults.map(\.kind) == [latency, latency])
    }

    @Test(arguments: [
        (
            #""delay": "1 s ± 1 s", "jitter": "2 s""#,
            ["the delay “1 s ± 1 s” has its jitter, and “jitter” gives another (delete one of them)"]
        ),
        (
            #""delay": "1 s ± 1 s", "quantiles": ["1 s", "2 s"]"#,
            ["the delay “1 s ± 1 s” has its jitter, and “quantiles” gives another (delete one of them)"]
        ),
        (
            #""delay": "1 s", "quantiles": ["1 s", "2 s"], "jitter": "1 s", "distribution": "normal""#,
            [
                "“jitter” and “quantiles” don't go together (delete “jitter”: the quantiles say how draws are distributed)",
                "“distribution” and “quantiles” don't go together "
                    + "(delete “distribution”: the quantiles say how draws are distributed)",
            ]
        ),
        (
            #""quantiles": ["2 s", "1 s"]"#,
            ["the quantile 1 s is below the one before, 2 s (write them from the smallest to the largest)"]
        ),
        (
            #""quantiles": ["2 s"]"#,
            [
                "there are fewer than two quantiles (write two or more, from the smallest delay to the largest: "
                    + "“[\"20 ms\", \"30 ms\", \"90 ms\"]”)"
            ]
        ),
        (
            #""quantiles": "2 s""#,
            [
                "“quantiles” is a list of durations, not a text (write two or more, from the smallest delay to the "
                    + "largest: “[\"20 ms\", \"30 ms\", \"90 ms\"]”)"
            ]
        ),
        (#""quantiles": ["1 s", 2]"#, ["“2” has no unit (write “2 ms” or “2 s”)"]),
        (
            #""delay": "20 ms", "minimum": "30 ms""#,
            ["the minimum, 30 ms, is above the delay, 20 ms (write a minimum of at most the delay)"]
        ),
        (
            #""delay": "0 s", "distribution": "log-normal""#,
            ["a log-normal delay is never zero (write a “delay” above zero, or another distribution)"]
        ),
        (
            #""delay": "1 s", "distribution": "lognormal""#,
            ["“lognormal” is not a value of “distribution” (write “log-normal”)"]
        ),
        (#""delay": "1 s", "correlation": 0.25"#, ["“0.25” has no percent sign (write “25 %”)"]),
        (
            #""delay": "1 s", "spikes": { "every": "1 s", "for": "1 s", "extra": "1 s" }"#,
            ["a spike of 1 s every 1 s never ends (write a shorter “for”, or a longer “delay” instead of spikes)"]
        ),
        (
            #""delay": "1 s", "spikes": { "every": "1 s", "extra": "1 s", "long": 1 }"#,
            [
                "“spikes” needs the key “for” (add “\"for\": \"250 ms\"”)",
                "“spikes” has no key “long” (its keys are “every”, “for”, “extra”, “behind”, “per”)",
            ]
        ),
    ])
    func `a mistake in a latency is named`(keys: String, expected: [String]) {
        let found = problems(fault: "{ \"kind\": \"latency\", \(keys) }")
        #expect(found.map { $0.replacing(#/^2:\d+: /#, with: "") } == expected)
    }
}
