import NIOCore
import Testing

@testable import OriginServer

/// The state machine of a connection, state by event. Times are in seconds since the connection started.
@Suite struct ConnectionStateMachineTests {
    private typealias Event = @Sendable (inout ConnectionStateMachine) -> ConnectionStateMachine.Action

    private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    private static func newConnection(isRefused: Bool = false) -> ConnectionStateMachine {
        ConnectionStateMachine(limits: OriginLimits(), isRefused: isRefused, now: at(0))
    }

    /// The machine in each of its states.
    private static var states: [(name: String, machine: ConnectionStateMachine)] {
        let idle = newConnection()
        var begun = idle
        begun.bytesArrived(at: at(1))
        var receiving = begun
        _ = receiving.headArrived(keepsAlive: true, isRespondedEarly: false, at: at(1))
        var taken = begun
        taken.requestDelegated()
        // Answered before its content arrived completely.
        var rest = taken
        _ = rest.responseEnded(at: at(1))
        var answering = receiving
        _ = answering.requestEnded(at: at(1))
        var last = begun
        _ = last.headArrived(keepsAlive: false, isRespondedEarly: true, at: at(1))
        var lingering = last
        _ = lingering.responseEnded(at: at(1))
        var closed = idle
        _ = closed.responseFailed()
        return [
            ("idle", idle), ("begun", begun), ("receiving", receiving), ("taken", taken), ("rest", rest),
            ("answering", answering), ("last", last),
            ("lingering", lingering), ("closed", closed),
        ]
    }

    private func expect(_ expected: [String: ConnectionStateMachine.Action], for event: Event) {
        for (name, start) in Self.states {
            var machine = start
            #expect(event(&machine) == expected[name] ?? .nothing, "\(name)")
        }
    }

    @Test func `a head is taken between requests only, and answered at once when its content can't be waited for`() {
        expect([:]) { $0.headArrived(keepsAlive: true, isRespondedEarly: false, at: Self.at(1)) }
        expect(["idle": .respond, "begun": .respond]) { machine in
            let action = machine.headArrived(keepsAlive: true, isRespondedEarly: true, at: Self.at(1))
            #expect(action == .nothing || machine.endsConnection)
            return action
        }
    }

    @Test func `a complete request is answered`() {
        expect(["receiving": .respond]) { machine in
            let action = machine.requestEnded(at: Self.at(1))
            #expect(action == .nothing || !machine.endsConnection)
            return action
        }
        var machine = Self.newConnection()
        _ = machine.headArrived(keepsAlive: false, isRespondedEarly: false, at: Self.at(1))
        #expect(machine.requestEnded(at: Self.at(1)) == .respond)
        #expect(machine.endsConnection)
    }

    @Test func `content is drained up to the limit, counted over all its parts`() {
        expect([:]) { $0.contentArrived(65_536, at: Self.at(1)) }
        let expected: [String: ConnectionStateMachine.Action] = ["receiving": .respond, "rest": .close]
        expect(expected) { $0.contentArrived(65_537, at: Self.at(1)) }
        expect(expected) { machine in
            #expect(machine.contentArrived(65_536, at: Self.at(1)) == .nothing)
            return machine.contentArrived(1, at: Self.at(1))
        }
    }

    @Test func `a malformed request is rejected, unless a response is in progress`() {
        let rejected = ConnectionStateMachine.Action.reject(.malformed)
        expect(["idle": rejected, "begun": rejected, "receiving": rejected, "rest": .close]) {
            $0.requestRejected(.malformed)
        }
        expect([
            "idle": .closeOutput, "begun": .closeOutput, "receiving": .closeOutput, "answering": .closeOutput,
            "taken": .closeOutput, "last": .closeOutput,
        ]) { machine in
            _ = machine.requestRejected(.malformed)
            return machine.responseEnded(at: Self.at(2))
        }
    }

    @Test func `when the client has finished sending, its last response is the end`() {
        expect(["idle": .close, "begun": .close, "receiving": .close, "rest": .close, "lingering": .close]) {
            $0.inputEnded()
        }
        expect(["taken": .close, "answering": .close, "last": .close]) { machine in
            _ = machine.inputEnded()
            return machine.responseEnded(at: Self.at(2))
        }
    }

    @Test func `after its last response a connection lingers`() {
        expect(["last": .closeOutput]) { $0.responseEnded(at: Self.at(2)) }
    }

    @Test func `a response that can't be finished closes the connection, whatever else is going on`() {
        for (name, start) in Self.states {
            var machine = start
            #expect(machine.responseFailed() == .close, "\(name)")
            #expect(machine.deadline == nil, "\(name)")
        }
    }

    @Test func `after a response the next request is accepted`() {
        let next = ConnectionStateMachine.Action.respond
        expect(["idle": next, "begun": next, "receiving": next, "answering": next]) { machine in
            _ = machine.responseEnded(at: Self.at(2))
            _ = machine.headArrived(keepsAlive: true, isRespondedEarly: false, at: Self.at(1))
            return machine.requestEnded(at: Self.at(1))
        }
    }

    @Test func `a refused connection gets its refusal in response to the first request`() {
        var machine = Self.newConnection(isRefused: true)
        let action = machine.headArrived(keepsAlive: true, isRespondedEarly: false, at: Self.at(1))
        #expect(action == .reject(.tooManyConnections))
        #expect(machine.responseEnded(at: Self.at(1)) == .closeOutput)
    }

    @Test func `each state has its deadline`() {
        let expected: [String: Int64?] = [
            "idle": 60, "begun": 31, "receiving": 31, "taken": nil, "rest": 31, "answering": nil, "last": nil,
            "lingering": 6, "closed": nil,
        ]
        for (name, machine) in Self.states {
            #expect(machine.deadline == expected[name]?.map { Self.at($0) }, "\(name)")
        }
    }

    @Test func `nothing happens before the deadline`() {
        for (name, start) in Self.states {
            guard let deadline = start.deadline else { continue }
            var machine = start
            #expect(machine.timeAdvanced(to: deadline - .nanoseconds(1)) == .nothing, "\(name)")
            #expect(machine.deadline == deadline, "\(name)")
        }
    }

    @Test func `a late content gets 408, a late head and a silent or lingering client are cut off`() {
        expect([
            "idle": .close, "begun": .close, "receiving": .reject(.timedOut), "rest": .close, "lingering": .close,
        ]) {
            $0.timeAdvanced(to: Self.at(1_000_000))
        }
    }

    @Test func `a byte now and then doesn't put the deadline of a request off`() {
        var machine = Self.newConnection()
        for second in 10...39 { machine.bytesArrived(at: Self.at(Int64(second))) }
        #expect(machine.deadline == Self.at(40))
    }

    @Test func `a response has a deadline while bytes of it are unsent, and progress extends it`() {
        for name in ["answering", "last"] {
            guard var machine = Self.states.first(where: { $0.name == name })?.machine else { continue }
            machine.bytesWritten(100, at: Self.at(10))
            machine.bytesWritten(100, at: Self.at(20))
            #expect(machine.deadline == Self.at(310))
            machine.bytesSent(100, at: Self.at(200))
            #expect(machine.deadline == Self.at(500))
            #expect(machine.timeAdvanced(to: Self.at(499)) == .nothing)
            var sent = machine
            sent.bytesSent(100, at: Self.at(210))
            #expect(sent.deadline == nil)
            #expect(machine.timeAdvanced(to: Self.at(500)) == .close)
        }
    }

    @Test func `bytes that came ahead of their turn start the clock of the next request`() {
        guard var machine = Self.states.first(where: { $0.name == "answering" })?.machine else { return }
        machine.bytesArrived(at: Self.at(5))
        #expect(machine.responseEnded(at: Self.at(100)) == .nothing)
        #expect(machine.deadline == Self.at(130))
    }

    @Test func `content that arrives fast enough isn't cut off, however long it takes`() {
        guard var machine = Self.states.first(where: { $0.name == "receiving" })?.machine else { return }
        for second in 2...61 {
            #expect(machine.contentArrived(1_024, at: Self.at(Int64(second))) == .nothing)
            #expect(machine.timeAdvanced(to: Self.at(Int64(second))) == .nothing, "\(second)")
        }
        // A window restarts when it is over.
        #expect(machine.deadline == Self.at(91))
        #expect(machine.timeAdvanced(to: Self.at(91)) == .reject(.timedOut))
    }

    @Test func `a response may end before its request, and the rest of that is dropped`() {
        guard var machine = Self.states.first(where: { $0.name == "rest" })?.machine else { return }
        // No head can arrive yet.
        #expect(machine.headArrived(keepsAlive: true, isRespondedEarly: true, at: Self.at(2)) == .nothing)
        #expect(machine.contentArrived(10, at: Self.at(2)) == .nothing)
        #expect(machine.requestEnded(at: Self.at(3)) == .nothing)
        #expect(machine.deadline == Self.at(63))
        let next = machine.headArrived(keepsAlive: true, isRespondedEarly: true, at: Self.at(4))
        #expect(next == .respond)
        #expect(machine.endsConnection)
    }

    @Test func `a request that another handler takes is answered by it, and the next is taken here`() {
        guard var machine = Self.states.first(where: { $0.name == "taken" })?.machine else { return }
        #expect(machine.requestEnded(at: Self.at(2)) == .nothing)
        #expect(machine.deadline == nil)
        #expect(machine.responseEnded(at: Self.at(5)) == .nothing)
        #expect(machine.deadline == Self.at(65))
    }
}
