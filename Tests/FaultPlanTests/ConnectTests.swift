import FaultPlan
import FaultProfile
import Testing
import Units

@Suite("A connect fault")
struct ConnectTests {
    private func plan(_ how: Connect.Mode, _ condition: Condition = Condition()) -> Plan {
        let phases = [
            Phase.lasting(.seconds(2), name: "here"),
            .lasting(.seconds(3), Fault.connect(how).when(condition), name: "gone"),
            .lasting(.seconds(5), name: "back"),
        ]
        return .of(.of([], phases: phases, repeats: true))
    }

    @Test
    func `that delays has the server connected to as much later`() throws {
        var admitter = Admitter.of(.of([.connect(.delay(.seconds(3), jitter: .zero))]))
        let connection = admitter.accept(at: .seconds(1))
        let delay = try #require(connection.faults.hold?.delay)
        #expect(delay.duration == .seconds(3) && !delay.isFailure)
        #expect(delay.event == FaultEvent(fault: 0, offset: nil, effect: .connectsLate))
        #expect(connection.upstream.isTransparent && connection.downstream.isTransparent)
        #expect(!connection.faults.terminators.arePossible)
        var hold = try #require(connection.faults.hold)
        #expect(hold.advance(at: .seconds(1)) == (.wait(until: .seconds(4)), delay.event))
    }

    @Test
    func `draws its delay evenly for each connection, and the same for the same seed`() {
        let profile = Profile.of([.connect(.delay(.milliseconds(100), jitter: .milliseconds(100)))])
        var admitter = Admitter.of(profile)
        let draws = (0..<2_000).map { _ in admitter.accept(at: .zero).faults.hold?.delay?.duration ?? .zero }
        #expect(draws.allSatisfy { $0 >= .zero && $0 <= .milliseconds(200) })
        let mean = draws.reduce(0.0) { $0 + Double($1.nanoseconds) / 1e6 } / 2_000
        #expect(abs(mean - 100) < 4, "\(mean)")
        #expect(draws.filter { $0 < .milliseconds(50) }.count > 400)
        var again = Admitter.of(profile)
        let same = (0..<2_000).map { _ in again.accept(at: .zero).faults.hold?.delay?.duration ?? .zero }
        let isSame = draws == same
        #expect(isSame)
    }

    @Test
    func `of several delays the longest holds`() {
        let short = Fault.connect(.delay(.seconds(1), jitter: .zero), name: "short")
        let long = Fault.connect(.delay(.seconds(2), jitter: .zero), name: "long")
        for faults in [[short, long], [long, short]] {
            var admitter = Admitter.of(.of(faults))
            #expect(admitter.accept(at: .zero).faults.hold?.delay?.duration == .seconds(2))
        }
    }

    @Test
    func `that hangs leaves everybody without an answer for as long as its phase lasts`() {
        let plan = plan(.hang)
        #expect(plan.admission(at: .seconds(1)) == (.open, .seconds(2)))
        #expect(plan.admission(at: .seconds(2)) == (.unanswered(fault: 0), .seconds(5)))
        #expect(plan.admission(at: .seconds(5)) == (.open, .seconds(10)))
        #expect(plan.admission(at: .seconds(13)) == (.unanswered(fault: 0), .seconds(15)))
    }

    @Test
    func `that hangs leaves a connection that it is on for alone until it is over`() throws {
        for condition in [Condition(), Condition(connections: .every(1))] {
            var admitter = Admitter(plan(.hang, condition))
            var hold = try #require(admitter.accept(at: .seconds(3)).faults.hold)
            let event = FaultEvent(fault: 0, offset: nil, effect: .hangs)
            #expect(hold.advance(at: .seconds(3)) == (.wait(until: .seconds(5)), event))
            #expect(hold.advance(at: .milliseconds(4_999)) == (.wait(until: .seconds(5)), nil))
            #expect(hold.advance(at: .seconds(5)) == (.pass, nil))
        }
    }

    @Test
    func `that hangs up to an age connects then`() throws {
        var admitter = Admitter.of(.of([.connect(.hang).when(Condition(ageUntil: .seconds(4)))]))
        #expect(admitter.plan.admission(at: .zero).admission == .open)
        var hold = try #require(admitter.accept(at: .seconds(10)).faults.hold)
        #expect(hold.advance(at: .seconds(10)).verdict == .wait(until: .seconds(14)))
        #expect(hold.advance(at: .milliseconds(13_999)).verdict == .wait(until: .seconds(14)))
        #expect(hold.advance(at: .seconds(14)).verdict == .pass)
    }

    @Test
    func `that comes on later doesn't touch a connection that is there`() {
        for how in [Connect.Mode.hang, .refuse, .close, .delay(.seconds(1), jitter: .zero)] {
            var admitter = Admitter(plan(how))
            let connection = admitter.accept(at: .seconds(1))
            #expect(connection.faults.hold == nil)
            #expect(!connection.faults.terminators.arePossible)
        }
    }

    @Test
    func `that refuses everybody does so before a connection is accepted, and resets no live one`() {
        let plan = plan(.refuse)
        #expect(plan.admission(at: .seconds(1)) == (.open, .seconds(2)))
        #expect(plan.admission(at: .seconds(2)) == (.refused(fault: 0), .seconds(5)))
    }

    @Test(arguments: [
        (Connect.Mode.refuse, FaultEvent.Effect.resets, Cut.Ending.reset), (.close, .cuts(.close), .close),
    ])
    func `that refuses or closes some ends them where they begin`(
        how: Connect.Mode,
        effect: FaultEvent.Effect,
        ending: Cut.Ending
    ) throws {
        var admitter = Admitter(plan(how, Condition(connections: .every(2))))
        #expect(admitter.plan.admission(at: .seconds(2)).admission == .open)
        #expect(!admitter.accept(at: .seconds(2)).faults.terminators.arePossible)
        let terminators = admitter.accept(at: .seconds(2)).faults.terminators
        // However late it is asked.
        let (event, how) = try #require(terminators.event(at: .seconds(9), lastPassed: .seconds(2)))
        #expect(event == FaultEvent(fault: 0, offset: nil, effect: effect))
        #expect(how == ending)
    }

    @Test
    func `of a refusal and a hang the refusal is what everybody meets`() {
        let plan = Plan.of(.of([.connect(.hang), .outage(.refuse)]))
        #expect(plan.admission(at: .zero).admission == .refused(fault: 1))
    }

    @Test
    func `left alone, a client is answered at the next packet that it sends again`() {
        #expect(ConnectDelay.answer(after: .milliseconds(1)) == .seconds(1))
        #expect(ConnectDelay.answer(after: .seconds(1)) == .seconds(1))
        #expect(ConnectDelay.answer(after: .milliseconds(1_001)) == .seconds(2))
        #expect(ConnectDelay.answer(after: .milliseconds(4_001)) == .seconds(5))
        #expect(ConnectDelay.answer(after: .milliseconds(5_001)) == .seconds(7))
        #expect(ConnectDelay.answer(after: .milliseconds(7_001)) == .seconds(11))
        #expect(ConnectDelay.answer(after: .nanoseconds(Int64.max)) == .nanoseconds(Int64.max))
    }
}
