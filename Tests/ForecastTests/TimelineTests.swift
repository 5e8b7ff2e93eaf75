import FaultPlan
import FaultProfile
import Forecast
import Testing
import Units

@Suite("A timeline")
struct TimelineTests {
    private func timeline(_ text: String, _ direction: Direction = .downstream, seconds: Int = 10) throws
        -> NetworkTimeline
    {
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        return NetworkTimeline(of: profile, direction: direction, until: .zero + .seconds(seconds))
    }

    @Test
    func `of a profile without phases is one segment`() throws {
        let timeline = try timeline(#"{ "name": "x", "faults": [ { "kind": "latency", "delay": "5 ms" } ] }"#)
        #expect(timeline.segments.count == 1)
        #expect(timeline.segments[0].conditions.delay == .milliseconds(5))
        #expect(timeline.segments[0].conditions.rate == nil)
        #expect(timeline.segments[0].end == .zero + .seconds(10) && timeline.cutAt == nil)
    }

    @Test
    func `tells the range and the median of a delay with quantiles`() throws {
        let fault = #"{ "kind": "latency", "delay": "1 ms", "quantiles": ["0 s", "2 ms", "4 ms", "99 ms"] }"#
        let timeline = try timeline(#"{ "name": "x", "faults": [ \#(fault) ] }"#)
        #expect(timeline.segments[0].conditions.others == ["latency 1 ms to 100 ms, half below 4 ms"])
    }

    @Test
    func `follows phases and their repetition without a gap`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "bandwidth", "rate": "8 Mbit/s" } ], "repeat": true,
              "phases": [ { "name": "a", "for": "2 s", "faults": [ { "kind": "bandwidth", "rate": "1 Mbit/s" } ] },
                { "name": "b", "for": "1 s", "faults": [ { "kind": "outage", "how": "silence" } ] } ] }
            """
        let timeline = try timeline(text)
        #expect(timeline.segments.map(\.phase) == [0, 1, 0, 1, 0, 1, 0])
        #expect(zip(timeline.segments, timeline.segments.dropFirst()).allSatisfy { $0.end == $1.begin })
        #expect(timeline.segments.last?.end == .zero + .seconds(10))
        #expect(timeline.segments[0].conditions.rate == BitRate(bitsPerSecond: 1_000_000), "the lower rate holds")
        #expect(timeline.segments[1].conditions.outage == .silence)
        let seconds = { (second: Int) in Moment.zero + .seconds(second) }
        #expect(timeline.capacity(from: seconds(0), to: seconds(1), opened: .zero) == .limited(1_000_000))
        #expect(timeline.capacity(from: seconds(0), to: seconds(4), opened: .zero) == .limited(750_000))
        #expect(timeline.capacity(from: seconds(2), to: seconds(3), opened: .zero) == .limited(0))
    }

    @Test
    func `tells the directions apart`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "bandwidth", "stream": "upstream", "rate": "1 Mbit/s" },
              { "kind": "bandwidth", "stream": "downstream", "rate": "9 Mbit/s" } ] }
            """
        #expect(try timeline(text, .upstream).segments[0].conditions.rate == BitRate(bitsPerSecond: 1_000_000))
        #expect(try timeline(text, .downstream).segments[0].conditions.rate == BitRate(bitsPerSecond: 9_000_000))
    }

    @Test
    func `names what acts at a byte, or on some connections, instead of counting it in`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "cut", "at": "64 KiB" },
              { "kind": "bandwidth", "rate": "1 kbit/s", "when": { "connection": "1..2", "chance": "50 %" } } ] }
            """
        let conditions = try timeline(text).segments[0].conditions
        #expect(conditions.rate == nil)
        #expect(
            conditions.others == [
                "cut at 64 KiB", "bandwidth 1 kbit/s, connections from 1 to 2, with a chance of 50 %",
            ]
        )
    }

    @Test
    func `of phases that never stop changing is bounded`() throws {
        let text = """
            { "name": "x", "repeat": true, "phases": [ { "name": "a", "for": "1 ms" }, { "name": "b", "for": "1 ms" } ] }
            """
        let timeline = try timeline(text, seconds: 11)
        #expect(timeline.segments.count == NetworkTimeline.limit)
        let end = try #require(timeline.cutAt)
        #expect(end == .zero + .seconds(10))
        #expect(timeline.segments.last?.phase == 1 && timeline.segments.last?.end == end)
    }
}

@Suite("The capacity of a timeline")
struct CapacityTests {
    private func capacity(_ faults: String, milliseconds: [Int], opened: Duration = .zero) throws
        -> NetworkTimeline.Capacity
    {
        let text = "{ \"name\": \"x\", \"faults\": [ \(faults) ] }"
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let timeline = NetworkTimeline(of: profile, direction: .downstream, until: .zero + .seconds(60))
        return timeline.capacity(
            from: .zero + .milliseconds(milliseconds[0]),
            to: .zero + .milliseconds(milliseconds[1]),
            opened: .zero + opened
        )
    }

    private let wave = #"{ "kind": "bandwidth", "wave": { "low": "1 Mbit/s", "high": "9 Mbit/s", "period": "8 s" } }"#

    @Test(arguments: [([0, 100], 1.1e6), ([3_900, 4_100], 8.9e6), ([0, 8_000], 5e6), ([1_950, 2_050], 5e6)])
    func `follows a wave`(milliseconds: [Int], rate: Double) throws {
        guard case .limited(let found) = try capacity(wave, milliseconds: milliseconds) else {
            Issue.record("it is limited")
            return
        }
        #expect(abs(found - rate) < 1_000, "\(found)")
    }

    @Test
    func `counts from the opening of a connection, or from the start of the clock for a shared rate`() throws {
        let own = try capacity(wave, milliseconds: [4_000, 4_100], opened: .seconds(4))
        #expect(own == .limited(1_100_000))
        let shared = wave.replacing("\"bandwidth\",", with: "\"bandwidth\", \"shared\": true,")
        #expect(try capacity(shared, milliseconds: [4_000, 4_100], opened: .seconds(4)) == .limited(8_900_000))
    }

    @Test
    func `has each step, and the least of several rates`() throws {
        let steps = """
            { "kind": "bandwidth", "rate": "2 Mbit/s", "repeat": "12 s",
              "steps": [ { "after": "5 s", "rate": "500 kbit/s" }, { "after": "8 s", "rate": "1 Mbit/s" } ] }
            """
        #expect(try capacity(steps, milliseconds: [4_900, 5_000]) == .limited(2_000_000))
        #expect(try capacity(steps, milliseconds: [4_900, 5_100]) == .limited(1_250_000))
        #expect(try capacity(steps, milliseconds: [20_000, 20_100]) == .limited(1_000_000))
        #expect(try capacity("\(steps), \(wave)", milliseconds: [0, 100]) == .limited(1_100_000))
    }

    @Test
    func `is unlimited without a rate`() throws {
        #expect(try capacity(#"{ "kind": "latency", "delay": "5 ms" }"#, milliseconds: [0, 100]) == .unlimited)
    }
}

@Suite("A progress curve")
struct ProgressCurveTests {
    @Test
    func `spreads an arrival over the time in which it came`() {
        var curve = ProgressCurve()
        curve.arrived(100, from: 2_000_000, to: 2_000_000)
        curve.arrived(400, from: 4_000_000, to: 6_000_000)
        #expect(curve.bytes(from: 0, to: 2_000_000) == 0)
        #expect(curve.bytes(from: 2_000_000, to: 3_000_000) == 100)
        #expect(curve.bytes(from: 0, to: 5_000_000) == 300)
        #expect(curve.bytes(from: 4_500_000, to: 5_500_000) == 200)
        #expect(curve.bytes(from: 0, to: .max) == 500)
    }

    @Test
    func `stays small and loses no byte`() {
        var curve = ProgressCurve()
        for index in 0..<100_000 {
            let moment = Int64(index) * 3_000_000
            curve.arrived(10, from: moment, to: moment + 3_000_000)
        }
        #expect(curve.bytes.count <= ProgressCurve.limit && curve.width == 100_000_000)
        #expect(abs(curve.bytes(from: 0, to: .max) - 1_000_000) < 0.01)
        #expect(abs(curve.bytes(from: 0, to: 150_000_000_000) - 500_000) < 10)
    }
}
