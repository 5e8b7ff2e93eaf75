import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A clock of phases")
struct PhaseClockTests {
    // MARK: The value

    @Test func `shows the time since its start, and a stopped one always the same`() {
        let clock = PhaseClock(start: .milliseconds(10))
        #expect(clock.time(at: .milliseconds(4)) == .milliseconds(-6))
        let stopped = clock.paused(at: .milliseconds(30))
        #expect(stopped.isPaused && stopped.time(at: .milliseconds(99)) == .milliseconds(20))
        #expect(stopped.paused(at: .milliseconds(50)) == stopped)
        let resumed = stopped.resumed(at: .milliseconds(100))
        #expect(!resumed.isPaused && resumed.time(at: .milliseconds(101)) == .milliseconds(21))
        #expect(resumed.resumed(at: .milliseconds(500)) == resumed)
    }

    @Test func `that is set stands still if it did, and one that is restarted runs`() {
        let clock = PhaseClock(start: .zero)
        let set = clock.set(to: .milliseconds(7), at: .milliseconds(100))
        #expect(!set.isPaused && set.time(at: .milliseconds(101)) == .milliseconds(8))
        let stopped = clock.paused(at: .milliseconds(30)).set(to: .milliseconds(7), at: .milliseconds(100))
        #expect(stopped.isPaused && stopped.time(at: .milliseconds(200)) == .milliseconds(7))
        let restarted = PhaseClock.restarted(at: .milliseconds(5))
        #expect(!restarted.isPaused && restarted.time(at: .milliseconds(9)) == .milliseconds(4))
    }

    @Test func `saturates at both ends of time`() {
        let clock = PhaseClock(start: .zero).set(to: .nanoseconds(Int64.max), at: .seconds(-5))
        #expect(clock.start.nanoseconds == .min)
        #expect(clock.time(at: .distantFuture) == .nanoseconds(Int64.max))
    }

    // MARK: Schedules and windows

    private let phases = [
        Phase.lasting(.milliseconds(10), name: "there"), .lasting(.milliseconds(5), name: "gone"),
        .lasting(.milliseconds(5), name: "back"),
    ]

    private func schedule(_ clock: PhaseClock, repeats: Bool = true) -> Schedule {
        Schedule(phases: phases, repeats: repeats, clock: clock, seed: 1)
    }

    @Test func `that is stopped has one phase for ever, and goes on in it`() {
        let running = PhaseClock(start: .zero)
        let stopped = running.paused(at: .milliseconds(12))
        let interval = schedule(stopped).interval(at: .seconds(3))
        #expect(interval.phase == 1 && interval.end == .distantFuture)
        let resumed = schedule(stopped.resumed(at: .seconds(1))).interval(at: .seconds(1))
        #expect(resumed == .init(phase: 1, begin: .milliseconds(998), end: .milliseconds(1_003)))
    }

    @Test func `that is stopped before its start has no phase`() {
        let clock = PhaseClock(start: .milliseconds(5)).paused(at: .zero)
        #expect(schedule(clock).interval(at: .seconds(1)).phase == nil)
        let resumed = schedule(clock.resumed(at: .seconds(1)))
        #expect(resumed.interval(at: .milliseconds(1_004)).phase == nil)
        #expect(resumed.interval(at: .milliseconds(1_005)).phase == 0)
    }

    @Test func `says when a phase begins first`() {
        let schedule = schedule(PhaseClock(start: .seconds(8)))
        #expect((0..<3).map(schedule.begin(ofPhase:)) == [.zero, .milliseconds(10), .milliseconds(15)])
        let endless = Schedule(phases: [.lasting(nil), .lasting(.seconds(1))], repeats: false, start: .zero, seed: 1)
        #expect(endless.begin(ofPhase: 1) == nil)
    }

    @Test func `says when a phase with jitter begins first`() throws {
        let phases = (0..<4).map { Phase(name: "\($0)", duration: .seconds(3), jitter: .seconds(1), faults: []) }
        for seed in 0..<50 as Range<UInt64> {
            let schedule = Schedule(phases: phases, repeats: true, start: .seconds(5), seed: seed)
            for index in phases.indices {
                let begin = try #require(schedule.begin(ofPhase: index))
                let interval = schedule.interval(at: .seconds(5) + begin)
                #expect(interval.phase == index && interval.begin == .seconds(5) + begin)
            }
        }
    }

    @Test(arguments: [(0, false), (19, false), (20, true), (29, true), (30, false), (45, true)])
    func `that is stopped has conditions hold for ever or never`(stop: Int64, isOn: Bool) {
        let conditions = [
            Condition(clock: ClockWindow(from: .milliseconds(20), until: .milliseconds(30))),
            Condition(duty: DutyCycle(on: .milliseconds(10), off: .milliseconds(15), offset: .milliseconds(20))),
        ]
        let clock = PhaseClock(start: .zero).paused(at: .milliseconds(stop))
        // The window of the clock is over at 45, and the second cycle has begun.
        for condition in conditions where condition.duty != nil || stop < 45 {
            let window = Window(condition, phase: nil, clock: clock)
            let interval = Schedule.none.interval(at: .zero)
            for moment in [0, 25, 45, 9_999].map(Moment.milliseconds) {
                #expect(window.contains(at: moment, age: 0, currentPhase: nil) == isOn)
                #expect(window.nextChange(after: moment, opened: .zero, interval: interval) == .distantFuture)
            }
        }
    }

    // MARK: Plans

    @Test func `that is set keeps the faults, the connections and what comes after`() {
        let cut = Fault.cut(at: 5)
        let after = Fault.latency(.zero).when(Condition(after: "cut"))
        var admitter = Admitter.of(.of([cut, after], phases: phases))
        _ = admitter.accept(at: .zero)
        admitter.plan.note(FaultEvent(fault: 0, offset: 5, effect: .cuts(.reset)))
        let change = admitter.setClock(.restarted(at: .milliseconds(12)))
        #expect(change.added.isEmpty && change.removed.isEmpty && change.changed.isEmpty && change.changesPhases)
        #expect(admitter.plan.generation == 2 && admitter.plan.fault(0) == cut)
        let next = admitter.accept(at: .milliseconds(13))
        #expect(next.ordinal == 2 && next.downstream.takesAhead, "the latency comes after the cut")
        #expect(admitter.plan.schedule.interval(at: .milliseconds(13)).phase == 0)
    }

    @Test func `that is stopped stays so when the profile changes`() {
        var admitter = Admitter.of(.of([], phases: phases))
        _ = admitter.setClock(admitter.plan.schedule.clock.paused(at: .milliseconds(12)))
        _ = admitter.apply(.of([.latency(.zero)], phases: phases))
        #expect(admitter.plan.schedule.interval(at: .seconds(9)).phase == 1)
        #expect(admitter.plan.schedule.clock.isPaused)
    }

    @Test func `has new connections refused as long as it shows the time of a refusal`() {
        let refusal = Phase.lasting(.milliseconds(5), .outage(.refuse), name: "gone")
        var admitter = Admitter.of(.of([], phases: [phases[0], refusal], repeats: true))
        _ = admitter.setClock(admitter.plan.schedule.clock.paused(at: .milliseconds(9)))
        #expect(admitter.plan.admission(at: .milliseconds(12)) == (.open, .distantFuture))
        _ = admitter.setClock(admitter.plan.schedule.clock.set(to: .milliseconds(10), at: .milliseconds(12)))
        #expect(admitter.plan.admission(at: .seconds(9)) == (.refused(fault: 0), .distantFuture))
        _ = admitter.setClock(admitter.plan.schedule.clock.resumed(at: .seconds(9)))
        #expect(admitter.plan.admission(at: .seconds(9)) == (.refused(fault: 0), .milliseconds(9_005)))
    }

    // MARK: Live links

    @Test func `that is stopped puts off the silence of a live link`() {
        var live = LivePump(.of([], phases: [phases[0], .lasting(nil, .outage(.silence), name: "gone")]))
        live.pump.waiting = 10
        #expect(live.run(5) == 10)
        live.setClock { $0.paused(at: $1) }
        #expect(live.run(40) == 10)
        live.pump.waiting = 10
        #expect(live.run(41) == 20)
        live.setClock { $0.resumed(at: $1) }
        live.pump.waiting = 10
        #expect(live.run(45) == 30, "it has shown 5 ms again from 41 ms on")
        #expect(live.run(46) == 30)
        live.pump.waiting = 10
        #expect(live.run(100) == 30)
        live.setClock { clock, now in .restarted(at: now) }
        #expect(live.run(101) == 40)
        #expect(live.pump.violations.isEmpty)
    }

    @Test func `that is set leaves bytes on their way, and what has acted`() {
        let stall = Fault.stall(at: 3, for: .milliseconds(2))
        var live = LivePump(.of([stall, .latency(.milliseconds(50))], phases: phases))
        live.pump.waiting = 10
        #expect(live.run(10) == 0)
        live.setClock { clock, now in .restarted(at: now) }
        #expect(live.run(49) == 0)
        #expect(live.run(52) == 10, "as if nothing had happened")
        live.pump.waiting = 10
        live.setClock { clock, now in clock.set(to: .milliseconds(15), at: now) }
        #expect(live.run(102) == 20)
        #expect(live.pump.violations.isEmpty)
    }
}
