import FaultPlan
import Forecast
import Testing
import Units

@Suite("A forecast")
struct TransferForecastTests {
    @Test
    func `takes the time that the rate needs for the file and the head`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s" } ] }"#
        let forecast = try forecast(text, bytes: 5_000_000)
        #expect(forecast.outcome == .complete)
        #expect(forecast.bytes == 5_000_000 && forecast.connections == 1)
        let seconds = Double(forecast.duration.nanoseconds) / 1e9
        #expect(abs(seconds - 5.0001) < 0.005, "\(seconds)")
    }

    @Test
    func `adds the delay of the request and of the answer`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "latency", "delay": "150 ms" } ] }"#
        #expect(try forecast(text, bytes: 1_000).duration == .milliseconds(300))
    }

    @Test
    func `of an upload is held to the rate of the other direction`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "bandwidth", "stream": "upstream", "rate": "1 MB/s" } ] }"#
        let up = try forecast(text, bytes: 1_000_000, direction: .upstream)
        let seconds = Double(up.duration.nanoseconds) / 1e9
        #expect(up.outcome == .complete && abs(seconds - 1.0001) < 0.003, "\(seconds)")
        #expect(try forecast(text, bytes: 1_000_000).duration < .milliseconds(2))
    }

    /// The way of the request, of the interim response, of the content and of the answer; without the second and the third
    /// one where the content is sent before.
    @Test(arguments: [(200, 800), (400, 1_300), (0, 0)])
    func `of an upload has the content wait for the upload's URL`(delay: Int, milliseconds: Int) throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "latency", "delay": "\#(delay) ms" } ] }"#
        let forecast = try forecast(text, bytes: 600_000, direction: .upstream, contentWait: .milliseconds(500))
        #expect(forecast.outcome == .complete)
        let deviation = forecast.duration - .milliseconds(milliseconds)
        #expect(deviation >= .zero && deviation < .milliseconds(1), "\(forecast.duration)")
    }

    @Test
    func `of an upload whose interim response is dropped sends the content without a URL`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "http", "drop": 104 } ] }"#
        let forecast = try forecast(text, bytes: 600_000, direction: .upstream, contentWait: .milliseconds(500))
        #expect(forecast.outcome == .complete && forecast.connections == 1 && forecast.cuts == 0)
        #expect(forecast.duration == .milliseconds(500))
    }

    @Test
    func `of an upload waits for no URL once it has sent content`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "latency", "delay": "200 ms" },
                { "kind": "cut", "stream": "upstream", "at": "5 KB", "when": { "connection": 1 } } ] }
            """
        let forecast = try forecast(text, bytes: 600_000, direction: .upstream, contentWait: .milliseconds(500))
        // Three ways until the cut, the client's wait, and two ways.
        #expect(abs(Double(forecast.duration.nanoseconds) / 1e9 - 1.1) < 0.002, "\(forecast.duration)")
    }

    @Test
    func `of an upload isn't complete without its answer, which is asked for without content`() throws {
        func upload(_ faults: String) throws -> TransferForecast {
            try forecast("{ \"name\": \"x\", \"faults\": [ \(faults) ] }", bytes: 5_000, direction: .upstream)
        }
        let cut = #""kind": "cut", "stream": "downstream", "at": "10 B", "how": "reset""#
        let never = try upload("{ \(cut) }")
        #expect(never.outcome == .givesUp && never.bytes == 5_000 && never.cuts == 10)
        let first = #""when": { "connection": 1 }"#
        let slow = #""kind": "bandwidth", "stream": "upstream", "rate": "1 KB/s", "when": { "connection": 2 }"#
        let lost = #""kind": "discard", "stream": "downstream", "close-after": "2 s""#
        for fault in [cut, lost] {
            let resumed = try upload("{ \(fault), \(first) }, { \(slow) }")
            #expect(resumed.outcome == .complete && resumed.connections == 2 && resumed.waits == 1)
            // The wait, and the request of 100 bytes.
            #expect(resumed.duration == .milliseconds(200))
        }
    }

    @Test
    func `resumes after each cut, and sends the head again`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "cut", "stream": "downstream", "at": "1100 B" } ] }"#
        let forecast = try forecast(text, bytes: 3_500)
        #expect(forecast.outcome == .complete)
        #expect(forecast.cuts == 3 && forecast.connections == 4)
        #expect(forecast.duration == .milliseconds(300))
        #expect(forecast.faultCounts.map(\.fault) == ["cut resets"] && forecast.faultCounts.first?.count == 3)
        let offsets = forecast.events.compactMap { event -> Int64? in
            if case .opened(_, let offset) = event.kind { offset } else { nil }
        }
        #expect(offsets == [0, 1_000, 2_000, 3_000])
    }

    @Test
    func `repeats received bytes behind a broken connection, but at most half of the last body`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "cut", "stream": "downstream", "at": "1100 B" } ] }"#
        func offsets(_ forecast: TransferForecast) -> [Int64] {
            forecast.events.compactMap { event in if case .opened(_, let offset) = event.kind { offset } else { nil } }
        }
        #expect(try offsets(forecast(text, bytes: 3_200, overlap: 100)) == [0, 1_000, 1_900, 2_800])
        #expect(try offsets(forecast(text, bytes: 3_200, overlap: 65_536)) == [0, 1_000, 1_500, 2_000, 2_500, 3_000])
        // What ends at the same byte of the file each time isn't repeated a second time.
        let same = text.replacing(#""at": "1100 B""#, with: #""every": "1000 B", "of": "resource""#)
        #expect(try offsets(forecast(same, bytes: 2_500, overlap: 100)) == [0, 1_000, 1_000, 2_000, 2_000])
        // An upload goes on at the byte that the server has.
        let up = #"{ "name": "x", "faults": [ { "kind": "cut", "stream": "upstream", "at": "1100 B" } ] }"#
        #expect(try offsets(forecast(up, bytes: 2_500, direction: .upstream, overlap: 65_536)) == [0, 1_000, 2_000])
    }

    @Test
    func `is refused while an outage refuses, and goes on behind it`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "bandwidth", "stream": "downstream", "rate": "1 MB/s" } ],
              "phases": [ { "name": "up", "for": "1 s" },
                { "name": "down", "for": "450 ms", "faults": [ { "kind": "outage", "how": "refuse" } ] },
                { "name": "up again" } ] }
            """
        let forecast = try forecast(text, bytes: 2_000_000)
        #expect(forecast.outcome == .complete && forecast.resets == 1 && forecast.connections == 2)
        #expect(forecast.refusals == 4)
        let seconds = Double(forecast.duration.nanoseconds) / 1e9
        #expect(abs(seconds - 2.5) < 0.01, "\(seconds)")
        #expect(forecast.pauses == 1)
        #expect(forecast.longestPause.map { $0.duration >= .milliseconds(499) } == true)
    }

    @Test
    func `counts a stall as a pause of its length`() throws {
        let text =
            #"{ "name": "x", "faults": [ { "kind": "stall", "stream": "downstream", "at": "500 B", "for": "2 s" } ] }"#
        let forecast = try forecast(text, bytes: 1_000)
        #expect(forecast.duration == .seconds(2))
        #expect(forecast.pauses == 1 && forecast.pausedTime == .seconds(2))
        #expect(forecast.progress.bytes(from: 0, to: 1_000_000_000) == 400)
    }

    @Test
    func `gives up when the client does, and tells how far it came`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "outage", "how": "refuse" } ] }"#
        let forecast = try forecast(text, bytes: 1_000, retries: SteadyRetries(wait: .seconds(1), attempts: 5))
        #expect(forecast.outcome == .givesUp)
        #expect(forecast.refusals == 5 && forecast.bytes == 0)
        #expect(forecast.faultCounts.map(\.fault) == ["outage refuses"] && forecast.faultCounts.first?.count == 1)
        #expect(forecast.duration == .seconds(4))
    }

    @Test
    func `gives a silent connection up after the time to the first byte`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "outage", "how": "silence" } ] }"#
        let forecast = try forecast(text, bytes: 1_000, retries: SteadyRetries(wait: .zero, attempts: 2))
        #expect(forecast.outcome == .givesUp && forecast.timeouts == 2)
        #expect(forecast.duration == .seconds(60))
    }

    @Test
    func `gives a body up that falls silent, after the window that the client watches`() throws {
        let text =
            #"{ "name": "x", "faults": [ { "kind": "stall", "stream": "downstream", "at": "500 B", "for": "1 h" } ] }"#
        let forecast = try forecast(text, bytes: 1_000, retries: SteadyRetries(wait: .zero, attempts: 2))
        #expect(
            forecast.timeouts > 0
                && forecast.events.first { $0.kind == .lost(connection: 1, offset: 400, .stalled) } != nil
        )
    }

    @Test
    func `ends with its time`() throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "bandwidth", "rate": "1 MB/s" } ] }"#
        let forecast = try forecast(text, bytes: 1_000_000_000, limit: .seconds(10))
        #expect(forecast.outcome == .unfinished && forecast.duration == .seconds(10))
        #expect(abs(Double(forecast.bytes) - 1e7) < 6e4, "\(forecast.bytes)")
    }

    @Test
    func `is the same for the same seed, and another for another`() throws {
        let text = """
            { "name": "x", "faults": [
              { "kind": "cut", "stream": "downstream", "between": ["1 KB", "90 KB"], "when": { "chance": "80 %" } },
              { "kind": "bandwidth", "rate": "100 KB/s" } ] }
            """
        func events(_ seed: UInt64) throws -> [TransferForecast.Event] {
            try forecast(text, bytes: 300_000, seed: seed).events
        }
        #expect(try events(1) == events(1))
        #expect(try events(1) != events(2))
    }

    @Test
    func `keeps a bounded number of events and points, and counts all`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "cut", "stream": "downstream", "at": "101 B" },
              { "kind": "bandwidth", "rate": "10 KB/s" } ] }
            """
        let forecast = try forecast(text, bytes: 3_000)
        #expect(forecast.cuts == 2_999)
        #expect(forecast.events.count == TransferForecast.eventLimit)
        #expect(forecast.progress.bytes.count <= ProgressCurve.limit)
        #expect(forecast.delays.count <= TransferForecast.delayLimit)
    }
}
