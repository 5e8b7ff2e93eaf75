import FaultPlan
import FaultProfile
import Testing
import Units

@Suite("A cut by time")
struct CutByTimeTests {
    private func interruptions(_ position: Cut.Position, _ how: Cut.Ending, _ condition: Condition = Condition())
        -> Interruptions
    {
        var plan = Plan.of(.of([.cut(position, how).when(condition)]))
        let connection = plan.accept(at: .seconds(100))
        #expect(connection.upstream.isTransparent && connection.downstream.isTransparent)
        return connection.interruptions
    }

    @Test(arguments: Cut.Ending.allCases)
    func `by age strikes a busy connection too, at its age`(how: Cut.Ending) throws {
        let interruptions = interruptions(.after(.seconds(10)), how)
        let early = Moment.milliseconds(109_999)
        #expect(interruptions.strike(at: early, lastPassed: early) == nil)
        #expect(interruptions.nextChange(after: .seconds(100), lastPassed: .seconds(100)) == .seconds(110))
        let (strike, ending) = try #require(interruptions.strike(at: .seconds(110), lastPassed: .seconds(110)))
        #expect(strike == Strike(fault: 0, offset: nil, effect: .cuts(how)))
        #expect(ending == how)
    }

    @Test
    func `by idleness strikes when nothing has passed for so long`() {
        let interruptions = interruptions(.idle(.seconds(5)), .close)
        #expect(interruptions.strike(at: .milliseconds(104_999), lastPassed: .seconds(100)) == nil)
        #expect(interruptions.strike(at: .seconds(105), lastPassed: .seconds(100)) != nil)
        #expect(interruptions.strike(at: .seconds(105), lastPassed: .seconds(101)) == nil)
        #expect(interruptions.nextChange(after: .seconds(105), lastPassed: .seconds(101)) == .seconds(106))
    }

    @Test
    func `strikes in its window only`() {
        let condition = Condition(ageFrom: .seconds(20), ageUntil: .seconds(30))
        let byAge = interruptions(.after(.seconds(10)), .reset, condition)
        #expect(byAge.strike(at: .seconds(115), lastPassed: .seconds(100)) == nil)
        #expect(byAge.nextChange(after: .seconds(115), lastPassed: .seconds(100)) == .seconds(120))
        #expect(byAge.strike(at: .seconds(120), lastPassed: .seconds(100)) != nil)
        let byIdleness = interruptions(.idle(.seconds(1)), .reset, condition)
        #expect(byIdleness.strike(at: .seconds(119), lastPassed: .seconds(100)) == nil)
        #expect(byIdleness.strike(at: .seconds(131), lastPassed: .seconds(100)) == nil)
    }
}
