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
        #expect(timeline.segment(at: .zero + .milliseconds(2_500))?.phase == 1)
        #expect(timeline.highestRate == BitRate(bitsPerSecond: 8_000_000))
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
        #expect(timeline.segment(at: end.advanced(byNanoseconds: -1))?.phase == 1 && timeline.segment(at: end) == nil)
    }
}

@Suite("A progress curve")
struct ProgressCurveTests {
    @Test
    func `tells what had arrived when, between its points as well`() {
        var curve = ProgressCurve()
        curve.reached(0, at: .zero)
        curve.reached(100, at: .zero + .milliseconds(2))
        curve.reached(400, at: .zero + .seconds(9))
        #expect(curve.offset(at: .zero + .milliseconds(1)) == 50)
        #expect(curve.offset(at: .zero + .milliseconds(2)) == 100)
        #expect(curve.offset(at: .zero + .seconds(5)) == 100, "far from both points nothing is made up")
        #expect(curve.offset(at: .zero + .seconds(9)) == 400)
        #expect(curve.offset(at: .zero + .seconds(99)) == 400)
    }

    @Test
    func `stays small and keeps its last point`() {
        var curve = ProgressCurve()
        for index in 0..<100_000 { curve.reached(Int64(index), at: .zero + .milliseconds(index * 3)) }
        #expect(curve.points.count <= ProgressCurve.limit)
        #expect(curve.points.last?.offset == 99_999)
        #expect(abs(curve.offset(at: .zero + .milliseconds(150_000)) - 50_000) < 200)
    }
}
