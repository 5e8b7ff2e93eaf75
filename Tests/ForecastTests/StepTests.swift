import FaultPlan
import Forecast
import Testing
import Units

/// A forecast ends after so many steps, whatever the profile has it do.
@Suite("The steps of a forecast", .timeLimit(.minutes(5)))
struct StepTests {
    /// Faults and phases that keep a forecast busy for ever, with 16 TiB to send.
    private static let endless = [
        #""faults": [ { "kind": "slice", "size": "1 B", "pause": "1 ns" } ]"#,
        #""faults": [ { "kind": "latency", "delay": "1 s", "when": { "duty": { "on": "1 ms", "off": "1 ms" } } } ]"#,
        #""faults": [ { "kind": "bandwidth", "rate": "20 KB/s" } ], "repeat": true,"#
            + #" "phases": [ { "name": "a", "for": "2 ms", "jitter": "1 ms" }, { "name": "b", "for": "1 ms" } ]"#,
        #""faults": [ { "kind": "loss", "rate": "50 %", "rtt": "1 ms", "sender": "bbr", "link": "900 Gbit/s" } ]"#,
        #""faults": [ { "kind": "bandwidth", "wave": { "low": "1 GB/s", "high": "2 GB/s", "period": "3 s" } } ]"#,
    ]

    @Test(arguments: endless)
    func `are so many at most`(rules: String) throws {
        let forecast = try forecast("{ \"name\": \"x\", \(rules) }", bytes: 1 << 44, stepLimit: 20_000)
        #expect(forecast.outcome == .tooManySteps)
        #expect(forecast.duration < .seconds(86_400))
    }

    /// Work that one question to a link may bring, whatever it has to send: draws of bytes that a fault is too late for, and
    /// of delays.
    @Test(arguments: [
        (#"{ "kind": "corrupt", "rate": "50 %", "when": { "clock": "1 h" } }"#, TransferForecast.Outcome.complete),
        (#"{ "kind": "corrupt", "rate": "100 %", "when": { "age": "2 s", "clock": "..1 s" } }"#, .complete),
        (#"{ "kind": "latency", "quantiles": ["1 ms", "2 ms", "9 ms"], "correlation": "50 %" }"#, .tooManySteps),
    ])
    func `count what a question has a link work out`(fault: String, outcome: TransferForecast.Outcome) throws {
        let text = "{ \"name\": \"x\", \"faults\": [ \(fault) ] }"
        let forecast = try forecast(text, bytes: 1 << 40, stepLimit: 1_000_000)
        #expect(forecast.outcome == outcome)
        // Two steps for each 16 KiB, where a question for 8 MiB was one.
        #expect(outcome == .complete || forecast.bytes < 1 << 34)
    }

    @Test
    func `count for more with every fault, and with every change`() throws {
        let rate = #"{ "kind": "bandwidth", "rate": "20 KB/s" }"#
        let busy = #"{ "kind": "bandwidth", "rate": "20 KB/s", "when": { "duty": { "on": "1 s", "off": "1 ms" } } }"#
        let durations = try [[rate], [rate] + [String](repeating: rate, count: 40), [busy]].map { faults in
            let text = "{ \"name\": \"x\", \"faults\": [ \(faults.joined(separator: ", ")) ] }"
            return try forecast(text, bytes: 1 << 40, limit: .seconds(1 << 30), stepLimit: 20_000).duration
        }
        #expect(durations[1] * 5 < durations[0] && durations[2] < durations[0])
    }

    @Test
    func `don't run out where the time does`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "bandwidth", "rate": "20 KB/s" } ] }"#
        #expect(try forecast(text, bytes: 1 << 40, limit: .seconds(1)).outcome == .unfinished)
    }
}
