import NIOCore
import Testing

@testable import OriginServer

/// The machine of a connection, state by event. Time is in seconds since the connection began.
@Suite struct RequestCycleTests {
    private typealias Event = @Sendable (inout RequestCycle) -> RequestCycle.Action

    private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    private static func newCycle(isRefused: Bool = false) -> RequestCycle {
        RequestCycle(limits: OriginLimits(), isRefused: isRefused, now: at(0))
    }

    /// The cycle in each of its states.
    private static var states: [(name: String, cycle: RequestCycle)] {
        let idle = newCycle()
        var begun = idle
        begun.bytesArrived(at: at(1))
        var receiving = begun
        _ = receiving.headArrived(keepsAlive: true, isAnsweredEarly: false)
        var answering = receiving
        _ = answering.requestEnded()
        var last = begun
        _ = last.headArrived(keepsAlive: false, isAnsweredEarly: true)
        var lingering = last
        _ = lingering.answerEnded(at: at(1))
        var closed = idle
        _ = closed.answerFailed()
        return [
            ("idle", idle), ("begun", begun), ("receiving", receiving), ("answering", answering), ("last", last),
            ("lingering", lingering), ("closed", closed),
        ]
    }

    private func expect(_ expected: [String: RequestCycle.Action], for event: Event) {
        for (name, start) in Self.states {
            var cycle = start
            #expect(event(&cycle) == expected[name] ?? .nothing, "\(name)")
        }
    }

    @Test func `a head is taken between requests only, and answered at once when its content can't be waited for`() {
        expect([:]) { $0.headArrived(keepsAlive: true, isAnsweredEarly: false) }
        expect(["idle": .answer(thenClose: true), "begun": .answer(thenClose: true)]) {
            $0.headArrived(keepsAlive: true, isAnsweredEarly: true)
        }
    }

    @Test func `a complete request is answered`() {
        expect(["receiving": .answer(thenClose: false)]) { $0.requestEnded() }
        var cycle = Self.newCycle()
        _ = cycle.headArrived(keepsAlive: false, isAnsweredEarly: false)
        #expect(cycle.requestEnded() == .answer(thenClose: true))
    }

    @Test func `content is drained up to the limit, counted over all its parts`() {
        expect([:]) { $0.contentArrived(65_536) }
        expect(["receiving": .answer(thenClose: true)]) { $0.contentArrived(65_537) }
        expect(["receiving": .answer(thenClose: true)]) { cycle in
            #expect(cycle.contentArrived(65_536) == .nothing)
            return cycle.contentArrived(1)
        }
    }

    @Test func `what is no request is rejected, unless an answer is under way`() {
        let rejected = RequestCycle.Action.reject(.malformed)
        expect(["idle": rejected, "begun": rejected, "receiving": rejected]) { $0.requestRejected(.malformed) }
        expect([
            "idle": .closeOutput, "begun": .closeOutput, "receiving": .closeOutput, "answering": .closeOutput,
            "last": .closeOutput,
        ]) { cycle in
            _ = cycle.requestRejected(.malformed)
            return cycle.answerEnded(at: Self.at(2))
        }
    }

    @Test func `when the client has finished sending, its last answer is the end`() {
        expect(["idle": .close, "begun": .close, "receiving": .close, "lingering": .close]) { $0.inputEnded() }
        expect(["answering": .close, "last": .close]) { cycle in
            _ = cycle.inputEnded()
            return cycle.answerEnded(at: Self.at(2))
        }
    }

    @Test func `after its last answer a connection lingers`() {
        expect(["last": .closeOutput]) { $0.answerEnded(at: Self.at(2)) }
    }

    @Test func `an answer that can't be finished closes the connection, whatever else goes on`() {
        for (name, start) in Self.states {
            var cycle = start
            #expect(cycle.answerFailed() == .close, "\(name)")
            #expect(cycle.deadline == nil, "\(name)")
        }
    }

    @Test func `after an answer the next request is taken`() {
        let next = RequestCycle.Action.answer(thenClose: false)
        expect(["idle": next, "begun": next, "receiving": next, "answering": next]) { cycle in
            _ = cycle.answerEnded(at: Self.at(2))
            _ = cycle.headArrived(keepsAlive: true, isAnsweredEarly: false)
            return cycle.requestEnded()
        }
    }

    @Test func `a refused connection is told so for its first request`() {
        var cycle = Self.newCycle(isRefused: true)
        let action = cycle.headArrived(keepsAlive: true, isAnsweredEarly: false)
        #expect(action == .reject(.tooManyConnections))
        #expect(cycle.answerEnded(at: Self.at(1)) == .closeOutput)
    }

    @Test func `each state has its deadline`() {
        let expected: [String: Int64?] = [
            "idle": 60, "begun": 31, "receiving": 31, "answering": nil, "last": nil, "lingering": 6, "closed": nil,
        ]
        for (name, cycle) in Self.states {
            #expect(cycle.deadline == expected[name]?.map { Self.at($0) }, "\(name)")
        }
    }

    @Test func `nothing happens before the deadline`() {
        for (name, start) in Self.states {
            guard let deadline = start.deadline else { continue }
            var cycle = start
            #expect(cycle.timeAdvanced(to: deadline - .nanoseconds(1)) == .nothing, "\(name)")
            #expect(cycle.deadline == deadline, "\(name)")
        }
    }

    @Test func `a late content gets 408, a late head and a silent or lingering client are cut off`() {
        expect(["idle": .close, "begun": .close, "receiving": .reject(.timedOut), "lingering": .close]) {
            $0.timeAdvanced(to: Self.at(1_000_000))
        }
    }

    @Test func `a byte now and then doesn't put the deadline of a request off`() {
        var cycle = Self.newCycle()
        for second in 10...39 { cycle.bytesArrived(at: Self.at(Int64(second))) }
        #expect(cycle.deadline == Self.at(40))
    }

    @Test func `an answer has a deadline while bytes of it are unsent, and progress puts it off`() {
        for name in ["answering", "last"] {
            guard var cycle = Self.states.first(where: { $0.name == name })?.cycle else { continue }
            cycle.bytesWritten(100, at: Self.at(10))
            cycle.bytesWritten(100, at: Self.at(20))
            #expect(cycle.deadline == Self.at(310))
            cycle.bytesSent(100, at: Self.at(200))
            #expect(cycle.deadline == Self.at(500))
            #expect(cycle.timeAdvanced(to: Self.at(499)) == .nothing)
            var sent = cycle
            sent.bytesSent(100, at: Self.at(210))
            #expect(sent.deadline == nil)
            #expect(cycle.timeAdvanced(to: Self.at(500)) == .close)
        }
    }

    @Test func `bytes that came ahead of their turn start the clock of the next request`() {
        guard var cycle = Self.states.first(where: { $0.name == "answering" })?.cycle else { return }
        cycle.bytesArrived(at: Self.at(5))
        #expect(cycle.answerEnded(at: Self.at(100)) == .nothing)
        #expect(cycle.deadline == Self.at(130))
    }
}
