import Testing
import TransferProtocol
import Units

@Suite struct StallDetectorTests {
    /// The sample, of 3 s each, at which a body with these bytes counts as stalled.
    private func stalled(_ ticks: [Int64?]) -> [Int] {
        var meter = StallDetector(rule: MinimumThroughput())
        let pause = MinimumThroughput().tick / 10
        return ticks.indices.filter { meter.tick(bytes: ticks[$0] ?? 0, pausedFor: ticks[$0] == nil ? pause : .zero) }
    }

    @Test func `15 s of silence are a stall, and not less`() {
        #expect(stalled([0, 0, 0, 0, 0]) == [4])
        #expect(stalled([0, 0, 0, 0]).isEmpty)
    }

    @Test func `one KiB a second is enough, and one byte less isn't`() {
        #expect(stalled([3_072, 3_072, 3_072, 3_072, 3_072]).isEmpty)
        #expect(stalled([3_072, 3_072, 3_072, 3_072, 3_071]) == [4])
    }

    @Test func `a burst counts until it leaves the window`() {
        #expect(stalled([0, 0, 0, 0, 15_360, 0, 0, 0, 0, 0]) == [9])
    }

    @Test func `time in which nothing was requested doesn't count against the sender`() {
        #expect(stalled([0, 0, 0, 0, nil, 0, 0, 0, 0, 0]) == [9])
    }

    @Test func `a minimum of zero still requires a byte in each window`() {
        var rule = MinimumThroughput()
        rule.minimumBytesPerSecond = .zero
        rule.window = .zero
        #expect(rule.tick == .milliseconds(1))
        var meter = StallDetector(rule: rule)
        #expect((0..<5).map { _ in meter.tick(bytes: 0) } == [false, false, false, false, true])
        #expect((0..<5).map { _ in meter.tick(bytes: 1) } == [false, false, false, false, false])
    }
}
