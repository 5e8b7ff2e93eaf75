import ChaosStage
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
}
