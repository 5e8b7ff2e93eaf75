import FaultPlan
import FaultProfile
import Testing
import Units

@testable import ProxyRuntime

struct PhaseFollowerTests {
    @Test func `phases that begin between two questions are all told`() {
        let phases = [
            Phase(name: "a", duration: .seconds(4), faults: []),
            Phase(name: "b", duration: .milliseconds(80), faults: []),
            Phase(name: "c", duration: .seconds(4), faults: []),
        ]
        let schedule = Schedule(phases: phases, repeats: true, start: .zero, seed: 1)
        func moment(_ milliseconds: Int64) -> Moment { .zero + .milliseconds(milliseconds) }
        var follower = PhaseFollower()
        #expect(follower.advance(schedule, to: moment(10)).map(\.phase) == [0])
        #expect(follower.advance(schedule, to: moment(3_990)).isEmpty)
        #expect(follower.advance(schedule, to: moment(4_100)).map(\.phase) == [1, 2])
        #expect(follower.advance(schedule, to: moment(4_050)).isEmpty, "an event of another thread is older")
        #expect(follower.advance(schedule, to: moment(8_081)).map(\.phase) == [0])
        #expect(follower.advance(schedule, to: moment(8_080_000)).count == 1, "a long gap tells the present only")
    }
}
