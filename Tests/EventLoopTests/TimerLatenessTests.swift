import Testing
import Units

@testable import EventLoop

struct TimerLatenessTests {
    @Test(
        arguments: [
            (0, 0), (1_000_000, 0), (1_000_001, 1), (2_000_000, 1), (9_999_999, 3), (10_000_001, 4), (1_000_000_000, 9),
            (1_000_000_001, 10), (.max, 10),
        ] as [(Int64, Int)]
    )
    func `a timer counts in the first bucket whose bound is no less`(nanoseconds: Int64, bucket: Int) {
        var lateness = TimerLateness()
        lateness.note(nanoseconds)
        #expect(lateness.counts.enumerated().filter { $0.element > 0 }.map(\.offset) == [bucket])
        #expect(lateness.count == 1 && lateness.longest == .nanoseconds(nanoseconds))
        lateness += lateness
        #expect(lateness.counts[bucket] == 2 && lateness.longest == .nanoseconds(nanoseconds))
    }

    @Test func `timers of a loop are counted by their lateness, and those set to a past moment aren't`() async throws {
        try await withLoop { loop in
            let lateness = try await loop.run {
                let recorder = Recorder()
                let timer = LoopTimer(loop: loop, handler: recorder, tag: 0, isCoarse: true)
                let due = loop.now + .seconds(3_600)
                timer.set(to: due)
                loop.timers.fire(by: Moments { due + .milliseconds(30) })
                timer.set(to: loop.now.advanced(byNanoseconds: -1))
                loop.timers.fire(by: loop)
                return loop.timerLateness
            }
            #expect(lateness.counts == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
            #expect(lateness.total == .milliseconds(30))
        }
    }
}
