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

    /// The stretches from the start on, each asked for at its beginning.
    private func stretches(_ schedule: Schedule, _ count: Int) -> [Schedule.Stretch] {
        var now = schedule.start
        return (0..<count).map { _ in
            let stretch = schedule.stretch(at: now)
            now = stretch.end
            return stretch
        }
    }

    @Test
    func `runs the phases in order, without a gap, each as long as its jitter allows`() {
        let stretches = stretches(schedule(start: .seconds(3)), 3_000)
        #expect(stretches.enumerated().allSatisfy { $1.phase == $0 % 3 })
        #expect(zip(stretches, stretches.dropFirst()).allSatisfy { $0.end == $1.begin })
        for (index, phase) in phases.enumerated() {
            let lengths = stretches.filter { $0.phase == index }.map { ($0.end - $0.begin) }
            let length = phase.duration ?? .zero
            #expect(lengths.allSatisfy { $0 >= length - phase.jitter && $0 <= length + phase.jitter })
            #expect(lengths.allSatisfy { $0 > .zero })
        }
    }

    @Test
    func `draws lengths evenly between their ends`() {
        let lengths = stretches(schedule(), 12_000).filter { $0.phase == 0 }.map { ($0.end - $0.begin).nanoseconds }
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
            let stretch = schedule.stretch(at: begin)
            #expect(stretch.phase == 0 && stretch.begin == begin)
            #expect(schedule.stretch(at: begin.advanced(byNanoseconds: -1)).end == begin || pair == 0)
        }
    }

    @Test
    func `answers alike wherever in a stretch it is asked, and whatever was asked before`() {
        let schedule = schedule(seed: 4)
        for stretch in stretches(schedule, 300) {
            for moment in [
                stretch.begin, stretch.begin.advanced(byNanoseconds: 500), stretch.end.advanced(byNanoseconds: -1),
            ] {
                #expect(schedule.stretch(at: moment) == stretch)
            }
        }
    }

    @Test
    func `draws by the seed and the name of the phase`() {
        #expect(stretches(schedule(), 9) == stretches(schedule(), 9))
        #expect(stretches(schedule(), 9) != stretches(schedule(seed: 2), 9))
        let other = Schedule(
            phases: [Phase(name: "new", duration: .seconds(1))] + phases,
            repeats: false,
            start: .zero,
            seed: 1
        )
        let first = stretches(schedule(repeats: false), 3).map { $0.end - $0.begin }
        #expect(stretches(other, 4).dropFirst().map { $0.end - $0.begin } == first)
    }

    @Test
    func `ends where the drawn lengths end when it doesn't repeat`() {
        let schedule = schedule(repeats: false)
        let last = stretches(schedule, 3)[2]
        #expect(schedule.stretch(at: last.end) == .init(phase: nil, begin: last.end, end: .distantFuture))
        #expect(schedule.stretch(at: .distantFuture).phase == nil)
        let endless = Schedule(
            phases: phases + [Phase(name: "back")],
            repeats: true,
            start: .zero,
            seed: 1
        )
        #expect(endless.stretch(at: last.end) == .init(phase: 3, begin: last.end, end: .distantFuture))
        #expect(endless.stretch(at: .distantFuture).phase == 3)
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
                    let stretch = schedule.stretch(at: moment)
                    #expect(stretch.begin <= moment && (stretch.end > moment || moment == .distantFuture))
                }
            }
        }
    }
}
