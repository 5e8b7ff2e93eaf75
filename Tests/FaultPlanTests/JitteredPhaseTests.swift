import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A schedule of phases that vary")
struct JitteredPhaseTests {
    private let phases = [
        Phase(name: "a", duration: .milliseconds(400), jitter: .milliseconds(100)),
        Phase(name: "b", duration: .milliseconds(300)),
        Phase(name: "c", duration: .milliseconds(50), jitter: .milliseconds(49)),
    ]

    private func schedule(seed: UInt64 = 1, repeats: Bool = true, start: Moment = .zero) -> Schedule {
        Schedule(phases: phases, repeats: repeats, start: start, seed: seed)
    }

    /// The intervals from the start on, each asked for at its beginning.
    private func intervals(_ schedule: Schedule, _ count: Int) -> [Schedule.Interval] {
        var now = schedule.start
        return (0..<count).map { _ in
            let interval = schedule.interval(at: now)
            now = interval.end
            return interval
        }
    }

    @Test
    func `runs the phases in order, without a gap, each as long as its jitter allows`() {
        let intervals = intervals(schedule(start: .seconds(3)), 3_000)
        #expect(intervals.enumerated().allSatisfy { $1.phase == $0 % 3 })
        #expect(zip(intervals, intervals.dropFirst()).allSatisfy { $0.end == $1.begin })
        for (index, phase) in phases.enumerated() {
            let lengths = intervals.filter { $0.phase == index }.map { ($0.end - $0.begin) }
            let length = phase.duration ?? .zero
            #expect(lengths.allSatisfy { $0 >= length - phase.jitter && $0 <= length + phase.jitter })
            #expect(lengths.allSatisfy { $0 > .zero })
        }
    }

    @Test
    func `draws lengths evenly between their ends`() {
        let lengths = intervals(schedule(), 12_000).filter { $0.phase == 0 }.map { ($0.end - $0.begin).nanoseconds }
        let counts = (0..<10).map { bin in
            lengths.count { ($0 - 300_000_000) / 20_000_001 == bin }
        }
        #expect(counts.reduce(0, +) == 4_000)
        // 400 in each of ten bins, and seven standard deviations of a pair's draws to either side.
        #expect(counts.allSatisfy { abs($0 - 400) < 190 }, "\(counts)")
        #expect(Set(lengths).count > 3_900)
    }

    @Test
    func `never drifts: two rounds take twice the time of one`() {
        let schedule = schedule()
        for pair in [0, 1, 7, 1_000_000, 1_000_000_000] as [Int64] {
            let begin = Moment(nanoseconds: pair * 1_500_000_000)
            let interval = schedule.interval(at: begin)
            #expect(interval.phase == 0 && interval.begin == begin)
            #expect(schedule.interval(at: begin.advanced(byNanoseconds: -1)).end == begin || pair == 0)
        }
    }

    @Test
    func `answers alike wherever in a interval it is asked, and whatever was asked before`() {
        let schedule = schedule(seed: 4)
        for interval in intervals(schedule, 300) {
            for moment in [
                interval.begin, interval.begin.advanced(byNanoseconds: 500), interval.end.advanced(byNanoseconds: -1),
            ] {
                #expect(schedule.interval(at: moment) == interval)
            }
        }
    }

    @Test
    func `draws by the seed and the name of the phase`() {
        #expect(intervals(schedule(), 9) == intervals(schedule(), 9))
        #expect(intervals(schedule(), 9) != intervals(schedule(seed: 2), 9))
        let other = Schedule(
            phases: [Phase(name: "new", duration: .seconds(1))] + phases,
            repeats: false,
            start: .zero,
            seed: 1
        )
        let first = intervals(schedule(repeats: false), 3).map { $0.end - $0.begin }
        #expect(intervals(other, 4).dropFirst().map { $0.end - $0.begin } == first)
    }

    @Test
    func `ends where the drawn lengths end when it doesn't repeat`() {
        let schedule = schedule(repeats: false)
        let last = intervals(schedule, 3)[2]
        #expect(schedule.interval(at: last.end) == .init(phase: nil, begin: last.end, end: .distantFuture))
        #expect(schedule.interval(at: .distantFuture).phase == nil)
        let endless = Schedule(
            phases: phases + [Phase(name: "back")],
            repeats: true,
            start: .zero,
            seed: 1
        )
        #expect(endless.interval(at: last.end) == .init(phase: 3, begin: last.end, end: .distantFuture))
        #expect(endless.interval(at: .distantFuture).phase == 3)
    }

    @Test
    func `is right to the end of the clock`() {
        let most = Duration.nanoseconds(Int64.max - 1)
        let phases = [
            Phase(name: "a", duration: most, jitter: .nanoseconds(Int64.max - 2)),
            Phase(name: "b", duration: .seconds(1)),
        ]
        for seed in 0..<50 as Range<UInt64> {
            for repeats in [false, true] {
                let schedule = Schedule(phases: phases, repeats: repeats, start: .zero, seed: seed)
                for moment in [Moment.zero, .seconds(1 << 32), .distantFuture] {
                    let interval = schedule.interval(at: moment)
                    #expect(interval.begin <= moment && (interval.end > moment || moment == .distantFuture))
                }
            }
        }
    }
}
