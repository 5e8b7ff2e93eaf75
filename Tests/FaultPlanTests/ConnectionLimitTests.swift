import FaultPlan
import FaultProfile
import Testing
import Units

@Suite("A connection limit")
struct ConnectionLimitTests {
    @Test(arguments: [(ConnectionLimit.Mode.refuse, Room.refused(fault: 0)), (.hang, .waiting(fault: 0))])
    func `has room for as many as it says and no more`(how: ConnectionLimit.Mode, room: Room) {
        let plan = Plan.of(.of([.connectionLimit(3, how)]))
        #expect(plan.room(for: 0, at: .zero) == .free)
        #expect(plan.room(for: 2, at: .zero) == .free)
        #expect(plan.room(for: 3, at: .zero) == room)
        #expect(plan.room(for: 100, at: .seconds(1_000)) == room)
    }

    @Test
    func `holds in its phase only, and says when to ask again`() {
        let phases = [
            Phase.lasting(.seconds(2), name: "empty"),
            .lasting(.seconds(3), .connectionLimit(1, .hang), name: "full"),
        ]
        let plan = Plan.of(.of([], phases: phases, repeats: true))
        #expect(plan.room(for: 5, at: .seconds(1)) == .free)
        #expect(plan.room(for: 5, at: .seconds(2)) == .waiting(fault: 0))
        #expect(plan.room(for: 5, at: .seconds(5)) == .free)
        #expect(plan.admission(at: .seconds(1)) == (.open, .seconds(2)))
        #expect(plan.admission(at: .seconds(2)) == (.open, .seconds(5)))
    }

    @Test
    func `of several is the lowest, whatever their order`() {
        let faults = [Fault.connectionLimit(9, .refuse, name: "high"), .connectionLimit(2, .hang, name: "low")]
        #expect(Plan.of(.of(faults)).room(for: 9, at: .zero) == .waiting(fault: 1))
        #expect(Plan.of(.of(faults.reversed())).room(for: 9, at: .zero) == .waiting(fault: 0))
        #expect(Plan.of(.of(faults)).room(for: 1, at: .zero) == .free)
    }

    @Test
    func `does nothing to a connection`() {
        var admitter = Admitter.of(.of([.connectionLimit(1, .refuse)]))
        let connection = admitter.accept(at: .zero)
        #expect(connection.upstream.isTransparent && connection.downstream.isTransparent)
        #expect(!connection.faults.terminators.arePossible && connection.faults.hold?.delay == nil)
        #expect(admitter.plan.admission(at: .zero) == (.open, .distantFuture))
    }
}
