import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A schedule")
struct ScheduleTests {
    private func schedule(_ durations: Duration?..., repeats: Bool = false, start: Moment = .zero) -> Schedule {
        let phases = durations.enumerated().map { Phase(name: "\($0.offset)", duration: $0.element) }
        return Schedule(phases: phases, repeats: repeats, start: start, seed: 1)
    }

    @Test
    func `without phases is one interval without a phase`() {
        let interval = schedule().interval(at: .seconds(5))
        #expect(interval.phase == nil)
        #expect(interval.end == .distantFuture)
    }

    @Test
    func `has each phase begin where the one before it ends`() {
        let schedule = schedule(.seconds(2), .seconds(3), start: .seconds(10))
        #expect(schedule.interval(at: .seconds(10)) == .init(phase: 0, begin: .seconds(10), end: .seconds(12)))
        #expect(schedule.interval(at: Moment(nanoseconds: 11_999_999_999)).phase == 0)
        #expect(schedule.interval(at: .seconds(12)) == .init(phase: 1, begin: .seconds(12), end: .seconds(15)))
        #expect(schedule.interval(at: .seconds(15)) == .init(phase: nil, begin: .seconds(15), end: .distantFuture))
    }

    @Test
    func `has no phase before its start`() {
        let schedule = schedule(.seconds(2), start: .seconds(10))
        let before = Schedule.Interval(phase: nil, begin: Moment(nanoseconds: .min), end: .seconds(10))
        #expect(schedule.interval(at: .seconds(3)) == before)
        #expect(schedule.interval(at: Moment(nanoseconds: 9_999_999_999)) == before)
        #expect(schedule.interval(at: Moment(nanoseconds: .min)) == before)
    }

    @Test
    func `that began long ago is where it would be had it run all the time`() {
        let schedule = schedule(.seconds(2), .seconds(3), repeats: true, start: .seconds(-86_400 * 365))
        #expect(schedule.interval(at: .zero) == .init(phase: 0, begin: .zero, end: .seconds(2)))
        #expect(schedule.interval(at: .seconds(4)) == .init(phase: 1, begin: .seconds(2), end: .seconds(5)))
    }

    @Test
    func `begins again after the last phase when it repeats`() {
        let schedule = schedule(.seconds(2), .seconds(3), repeats: true, start: .seconds(1))
        for cycle in 0..<100 as Range<Int64> {
            let origin = 1 + 5 * cycle
            let first = Schedule.Interval(phase: 0, begin: .seconds(origin), end: .seconds(origin + 2))
            let second = Schedule.Interval(phase: 1, begin: .seconds(origin + 2), end: .seconds(origin + 5))
            #expect(schedule.interval(at: .seconds(origin)) == first)
            #expect(schedule.interval(at: .seconds(origin + 2)) == second)
            #expect(schedule.interval(at: Moment(nanoseconds: first.end.nanoseconds - 1)) == first)
        }
    }

    @Test(arguments: [false, true])
    func `stays in a last phase without a duration`(repeats: Bool) {
        let schedule = schedule(.seconds(2), nil, repeats: repeats)
        #expect(schedule.interval(at: .seconds(2)) == .init(phase: 1, begin: .seconds(2), end: .distantFuture))
        #expect(schedule.interval(at: .seconds(1 << 32)).phase == 1)
        #expect(schedule.interval(at: .distantFuture).phase == 1)
    }

    @Test
    func `saturates where durations add up beyond every clock`() {
        let long = Duration.nanoseconds(Int64.max)
        let schedule = schedule(.seconds(1), long, long, repeats: true, start: .seconds(5))
        #expect(schedule.interval(at: .seconds(5)).phase == 0)
        #expect(schedule.interval(at: .seconds(6)) == .init(phase: 1, begin: .seconds(6), end: .distantFuture))
        #expect(schedule.interval(at: .distantFuture).phase == 1)
    }

    @Test
    func `is right to the end of the clock when it repeats`() {
        let schedule = schedule(.nanoseconds(1), .nanoseconds(2), repeats: true)
        let last = Moment(nanoseconds: .max - 1)
        let interval = schedule.interval(at: last)
        #expect(interval.begin <= last && interval.end > last)
        #expect(interval.phase == ((Int64.max - 1) % 3 == 0 ? 0 : 1))
    }
}

@Suite("A window")
struct WindowTests {
    @Test
    func `that is always on never changes`() {
        let window = Window(phase: nil, ageFrom: 0, ageUntil: .max)
        #expect(window.isAlways)
        #expect(
            window.contains(at: .zero, age: 0, currentPhase: nil)
                && window.contains(at: .zero, age: .max - 1, currentPhase: 7)
        )
        #expect(window.nextChange(after: .zero, opened: .zero, interval: .until(.seconds(1))) == .distantFuture)
    }

    @Test
    func `of a phase is on in it alone, and may change when it ends`() {
        let window = Window(phase: 2, ageFrom: 0, ageUntil: .max)
        #expect(window.contains(at: .zero, age: 0, currentPhase: 2))
        #expect(
            !window.contains(at: .zero, age: 0, currentPhase: 1)
                && !window.contains(at: .zero, age: 0, currentPhase: nil)
        )
        #expect(window.nextChange(after: .zero, opened: .zero, interval: .until(.seconds(1), phase: 2)) == .seconds(1))
    }

    @Test
    func `of an age includes its first nanosecond and not its last`() {
        let window = Window(phase: nil, ageFrom: 10, ageUntil: 20)
        #expect(
            [9, 10, 19, 20].map { window.contains(at: .zero, age: $0, currentPhase: nil) } == [
                false, true, true, false,
            ]
        )
        let changes = [0, 14, 15, 25].map { now in
            window.nextChange(
                after: Moment(nanoseconds: now),
                opened: Moment(nanoseconds: 5),
                interval: .until(.distantFuture)
            )
        }
        #expect(changes.map(\.nanoseconds) == [15, 15, 25, .max])
    }

    @Test
    func `whose age has passed never changes again, whatever the phases do`() {
        let window = Window(phase: 0, ageFrom: 0, ageUntil: 20)
        let change = window.nextChange(after: Moment(nanoseconds: 20), opened: .zero, interval: .until(.seconds(1)))
        #expect(change == .distantFuture)
    }
}

extension Schedule.Interval {
    /// A interval of a phase, or outside all of them, that ends at a moment.
    static func until(_ end: Moment, phase: Int? = nil) -> Schedule.Interval {
        Schedule.Interval(phase: phase, begin: Moment(nanoseconds: .min), end: end)
    }
}
