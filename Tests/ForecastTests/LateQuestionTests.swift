import FaultPlan
import Forecast
import Testing
import Units

/// A forecast asks late, and comes to the figures of somebody who asks in time.
@Suite("A forecast that asks late")
struct LateQuestionTests {
    private func seconds(_ faults: String, bytes: Int64) throws -> Double {
        let forecast = try forecast("{ \"name\": \"x\", \"faults\": [ \(faults) ] }", bytes: bytes)
        #expect(forecast.outcome == .complete)
        return Double(forecast.duration.nanoseconds) / 1e9
    }

    /// A request and a head are 100 B each, so a file of 399,900 B is a thousand slices.
    @Test(arguments: [(399_900, 0.999), (39_999_900, 99.999)] as [(Int64, Double)])
    func `counts every pause between slices`(bytes: Int64, expected: Double) throws {
        let slice = #"{ "kind": "slice", "size": "400 B", "pause": "1 ms" }"#
        #expect(abs(try seconds(slice, bytes: bytes) - expected) <= 0.002 * expected)
    }

    @Test
    func `counts pauses beside a rate and behind a stall as in time`() throws {
        let slice = #"{ "kind": "slice", "size": "400 B", "pause": "1 ms" }"#
        let rate = #"{ "kind": "bandwidth", "rate": "100 KB/s", "stream": "downstream" }"#
        let stall = #"{ "kind": "stall", "at": "40 KB", "for": "10 s", "stream": "downstream" }"#
        // 4 ms for each slice at the rate, and the pause.
        #expect(abs(try seconds("\(slice), \(rate)", bytes: 4_999_900) - 62.5) < 0.15)
        #expect(abs(try seconds("\(slice), \(stall)", bytes: 3_999_900) - 19.999) < 0.15)
    }

    /// 60 slices of 10,000 B.
    @Test
    func `counts pauses beside what holds the bytes for another reason`() throws {
        func slice(_ size: Int) -> String {
            #"{ "kind": "slice", "size": "\#(size) B", "pause": "20 ms", "stream": "downstream" }"#
        }
        let stall = #"{ "kind": "stall", "at": "205 KB", "for": "1 s", "stream": "downstream" }"#
        #expect(abs(try seconds("\(slice(10_000)), \(stall)", bytes: 599_900) - 2.18) < 0.02)
        let silence = #"{ "kind": "outage", "how": "silence", "when": { "clock": "205 ms..1220 ms" } }"#
        #expect(abs(try seconds("\(slice(10_000)), \(silence)", bytes: 599_900) - 2.18) < 0.02)
        // The ends of 60 and 40 slices, of which 20 are the same.
        #expect(abs(try seconds("\(slice(10_000)), \(slice(15_000))", bytes: 599_900) - 1.58) < 0.02)
    }

    @Test
    func `is as long for crumbs as their pauses are`() throws {
        let plan = Plan(profile: try Shipped.profile("small-writes"), seed: 7, proxy: "proxy", start: .zero)
        let transfer = Transfer(direction: .downstream, bytes: .mebibytes(64))
        let forecast = TransferForecast(of: transfer, through: plan, retries: SteadyRetries())
        let expected = Double(64 << 20) / 400 * 1e-3
        #expect(abs(Double(forecast.duration.nanoseconds) / 1e9 - expected) < 0.01 * expected)
    }

    @Test
    func `has enough steps for large files in crumbs`() throws {
        let plan = Plan(profile: try Shipped.profile("small-writes"), seed: 7, proxy: "proxy", start: .zero)
        let transfer = Transfer(direction: .downstream, bytes: ByteCount(4 << 30))
        let forecast = TransferForecast(of: transfer, through: plan, retries: SteadyRetries())
        #expect(forecast.outcome == .complete)
        let expected = Double(4 << 30) / 400 * 1e-3
        #expect(abs(Double(forecast.duration.nanoseconds) / 1e9 - expected) < 0.01 * expected)
    }

    /// Content of 60 slices comes a second after the request, which the fault for the other direction holds.
    @Test
    func `catches up on no pause from before the bytes came`() throws {
        let text = """
            { "name": "x", "faults": [
              { "kind": "slice", "size": "10 KB", "pause": "20 ms", "stream": "upstream" },
              { "kind": "latency", "delay": "1 s", "stream": "downstream" } ] }
            """
        let forecast = try forecast(text, bytes: 599_900, direction: .upstream, contentWait: .seconds(10))
        // The way of the interim response, 59 pauses, and the way of the answer.
        #expect(forecast.outcome == .complete)
        #expect(abs(Double(forecast.duration.nanoseconds) / 1e9 - 3.18) < 0.01, "\(forecast.duration)")
    }

    @Test
    func `makes nothing of slices without a pause`() throws {
        #expect(try seconds(#"{ "kind": "slice", "size": "1 B" }"#, bytes: 1 << 40) < 1e-3)
    }

    @Test
    func `loses no time of a fast sender on a lossy path`() throws {
        let loss = #"{ "kind": "loss", "rate": "0.1 %", "rtt": "5 ms", "sender": "bbr", "stream": "downstream" }"#
        // 1 Gbit/s with the headers, and without what is lost.
        let expected = 1e9 * 8 / 1e9 * 1_514 / 1_448 / 0.999
        #expect(abs(try seconds(loss, bytes: 1_000_000_000) - expected) < 0.05 * expected)
    }

    @Test
    func `takes no busy connection for an idle one`() throws {
        let faults = #"{ "kind": "bandwidth", "rate": "1 MB/s" }, { "kind": "cut", "idle": "50 ms" }"#
        #expect(abs(try seconds(faults, bytes: 100_000_000) - 100) < 0.2)
    }

    @Test
    func `ends each connection in time, however many there were`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "bandwidth", "rate": "1 MB/s", "stream": "downstream" },
              { "kind": "cut", "at": "100100 B", "stream": "downstream" } ] }
            """
        let forecast = try forecast(text, bytes: 100_000_000, retries: SteadyRetries(wait: .seconds(1)))
        // Each of 1,000 connections takes 100.1 ms, and a second lies between two of them.
        #expect(forecast.connections == 1_000 && forecast.pauses == 999)
        #expect(abs(Double(forecast.duration.nanoseconds) / 1e9 - 1_099.1) < 1.5)
    }

    @Test(.timeLimit(.minutes(5)))
    func `looks for no corruption that nobody is told of`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "corrupt", "rate": "100 %", "stream": "downstream" } ] }"#
        let forecast = try forecast(text, bytes: 1 << 36)
        #expect(forecast.outcome == .complete)
        #expect(forecast.faultCounts.map(\.count) == [1_000])
    }
}
