import ChaosStage
import FaultPlan
import FaultProfile
import Testing
import Units

/// A timeline covers a run of any length with a bounded number of samples.
struct TimelineTests {
    @Test(arguments: [1, 599, 600, 601, 1_200, 1_201, 36_000])
    func `no byte of a long run is left out, and the samples are few`(count: Int) throws {
        var timeline = Timeline()
        for index in 1...count {
            timeline.add(.init(time: .milliseconds(100 * index), upstream: 1, downstream: 10))
        }
        #expect(timeline.samples.count <= Timeline.sampleLimit)
        #expect(timeline.samples.count >= min(count, Timeline.sampleLimit / 2))
        #expect(timeline.samples.reduce(0) { $0 + $1.upstream } == Int64(count))
        #expect(timeline.samples.reduce(0) { $0 + $1.downstream } == Int64(10 * count))
        #expect(timeline.samples.map(\.time) == timeline.samples.map(\.time).sorted())
        #expect(timeline.samples.last?.time == .milliseconds(100 * count))
        let widths = Set(timeline.samples.dropLast().map(\.upstream))
        #expect(widths.count <= 1, "every interval but the last has the same length")
    }

    @Test func `marks beyond the limit are counted`() {
        var timeline = Timeline()
        for index in 0..<1_000 {
            timeline.add(Timeline.Mark(time: .milliseconds(index), kind: .fault, text: "\(index)"))
        }
        #expect(timeline.marks.count == Timeline.markLimit)
        #expect(timeline.omittedMarks == 1_000 - Timeline.markLimit)
    }

    @Test(arguments: [(2, 2, 0), (200, 200, 0), (201, 200, 1), (500_000, 200, Timeline.omissionLimit)])
    func `phases beyond the limit are counted, of one proxy as well`(count: Int, kept: Int, omitted: Int) {
        let phases = ["odd", "even"].map { Phase(name: $0, duration: .seconds(1)) }
        let began = Moment.zero + .seconds(5)
        let schedule = Schedule(phases: phases, repeats: true, start: began, seed: 1)
        var timeline = Timeline()
        let end = began + (.seconds(count) - .milliseconds(1))
        timeline.addPhases(["odd", "even"], of: "db", on: schedule, from: began, to: end)
        #expect(timeline.phases.count == kept)
        #expect(timeline.omittedPhases == omitted)
        #expect(timeline.phases[0] == .init(proxy: "db", name: "odd", start: .zero, end: .seconds(1)))
        #expect(timeline.phases[1].end == .seconds(2) - (count == 2 ? .milliseconds(1) : .zero))
    }
}
