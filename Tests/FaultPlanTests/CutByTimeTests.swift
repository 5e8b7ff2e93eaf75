import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A cut by time")
struct CutByTimeTests {
    private func terminators(_ position: Cut.Position, _ how: Cut.Ending, _ condition: Condition = Condition())
        -> ConnectionTerminators
    {
        var admitter = Admitter.of(.of([.cut(position, how).when(condition)]))
        let connection = admitter.accept(at: .seconds(100))
        #expect(connection.upstream.isTransparent && connection.downstream.isTransparent)
        return connection.faults.terminators
    }

    @Test(arguments: Cut.Ending.allCases)
    func `by age ends a busy connection too, at its age`(how: Cut.Ending) throws {
        let terminators = terminators(.after(.seconds(10)), how)
        let early = Moment.milliseconds(109_999)
        #expect(terminators.event(at: early, lastPassed: early) == nil)
        #expect(terminators.nextChange(after: .seconds(100), lastPassed: .seconds(100)) == .seconds(110))
        let (event, ending) = try #require(terminators.event(at: .seconds(110), lastPassed: .seconds(110)))
        #expect(event == FaultEvent(fault: 0, offset: nil, effect: .cuts(how)))
        #expect(ending == how)
    }

    @Test
    func `by idleness acts when nothing has passed for so long`() {
        let terminators = terminators(.idle(.seconds(5)), .close)
        #expect(terminators.event(at: .milliseconds(104_999), lastPassed: .seconds(100)) == nil)
        #expect(terminators.event(at: .seconds(105), lastPassed: .seconds(100)) != nil)
        #expect(terminators.event(at: .seconds(105), lastPassed: .seconds(101)) == nil)
        #expect(terminators.nextChange(after: .seconds(105), lastPassed: .seconds(101)) == .seconds(106))
    }

    @Test
    func `acts in its window only`() {
        let condition = Condition(ageFrom: .seconds(20), ageUntil: .seconds(30))
        let byAge = terminators(.after(.seconds(10)), .reset, condition)
        #expect(byAge.event(at: .seconds(115), lastPassed: .seconds(100)) == nil)
        #expect(byAge.nextChange(after: .seconds(115), lastPassed: .seconds(100)) == .seconds(120))
        #expect(byAge.event(at: .seconds(120), lastPassed: .seconds(100)) != nil)
        let byIdleness = terminators(.idle(.seconds(1)), .reset, condition)
        #expect(byIdleness.event(at: .seconds(119), lastPassed: .seconds(100)) == nil)
        #expect(byIdleness.event(at: .seconds(131), lastPassed: .seconds(100)) == nil)
    }

    /// A silence from the second second of the connection to the ninth.
    private let silence = Fault.outage(.silence).when(Condition(ageFrom: .seconds(2), ageUntil: .seconds(9)))

    @Test(arguments: [Cut.Position.after(.seconds(5)), .idle(.seconds(5))])
    func `is held by a silence, and acts when it is over`(position: Cut.Position) {
        var admitter = Admitter.of(.of([silence, .cut(position, .close)]))
        let terminators = admitter.accept(at: .seconds(100)).faults.terminators
        let opened = Moment.seconds(100)
        #expect(terminators.nextChange(after: opened, lastPassed: opened) == .seconds(105), "not when it begins")
        #expect(terminators.event(at: .seconds(105), lastPassed: opened) == nil)
        #expect(terminators.nextChange(after: .seconds(105), lastPassed: opened) == .seconds(109))
        #expect(terminators.event(at: .seconds(109), lastPassed: opened)?.how == .close)
    }

    @Test
    func `that is added in a silence is held as well, and acts when that is removed`() {
        var admitter = Admitter.of(.of([silence]))
        let connection = admitter.accept(at: .seconds(100))
        #expect(!connection.faults.terminators.arePossible)
        let cut = Fault.cut(.after(.seconds(5)))
        let added = admitter.apply(.of([silence, cut])).update(connection: 1, opened: .seconds(100))
        let held = added.terminators(after: connection.faults.terminators)
        #expect(held.event(at: .seconds(106), lastPassed: .seconds(106)) == nil)
        let removed = admitter.apply(.of([cut])).update(connection: 1, opened: .seconds(100))
        #expect(removed.terminators(after: held).event(at: .seconds(106), lastPassed: .seconds(106)) != nil)
    }
}
