import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

/// The state machine of a connection whose client names its target in a handshake.
@Suite struct NegotiationTests {
    private static let start = Moment.milliseconds(1_000)
    private static let handshakeEnd = start + ConnectionState.handshakeLimit

    private func machine(_ kinds: [FaultKind] = [], in phase: ConnectionState.Phase? = nil) -> ConnectionState {
        let faults = kinds.enumerated().map { Fault(name: "fault-\($0.offset)", kind: $0.element) }
        var admitter = Admitter(Plan(profile: Profile(name: "test", faults: faults), seed: 1, proxy: "p", start: .zero))
        var state = ConnectionState(admitter.accept(at: Self.start).faults, opened: Self.start, negotiates: true)
        guard let phase else { return state }
        _ = state.started(at: Self.start)
        switch phase {
        case .negotiating: break
        case .resolving: _ = state.handshakeEnded(lookupLimit: .seconds(3), at: Self.start)
        case .connecting, .replying(.refused, _), .replying(.connected, _):
            _ = state.handshakeEnded(lookupLimit: .seconds(3), at: Self.start)
            _ = state.resolved(at: Self.start)
            if case .replying(.connected, _) = phase { _ = state.connected(at: Self.start) }
            if case .replying(.refused, _) = phase { _ = state.dialFailed(.refused, of: 1, at: Self.start) }
        case .accepted, .held, .retrying, .unreached, .flowing, .cutPending, .lingering, .blackholed, .closed:
            Issue.record("no test needs this phase")
        }
        #expect(state.phase == phase)
        return state
    }

    private static let phases: [ConnectionState.Phase] = [
        .negotiating(until: handshakeEnd), .resolving(until: start + .seconds(3)),
        .replying(.connected, until: handshakeEnd), .replying(.refused, until: handshakeEnd),
    ]

    @Test func `reads the handshake, looks the name up, dials, replies, and forwards`() {
        var state = machine()
        #expect(state.started(at: Self.start) == ConnectionActions(timer: Self.handshakeEnd, .negotiate))
        #expect(state.ready(.client, at: Self.start).next == .negotiate)
        let resolving = state.handshakeEnded(lookupLimit: .seconds(3), at: Self.start)
        #expect(resolving == ConnectionActions(timer: Self.start + .seconds(3), .resolve))
        #expect(state.resolved(at: Self.start).next == .dial(address: 0))
        #expect(state.ready(.server, at: Self.start).next == .finishDialing)
        #expect(state.connected(at: Self.start) == ConnectionActions(timer: Self.handshakeEnd, .sendReply))
        #expect(!state.isFlowing)
        #expect(state.ready(.server, at: Self.start) == ConnectionActions())
        #expect(state.ready(.client, at: Self.start).next == .sendReply)
        #expect(state.replySent() == ConnectionActions(timer: .distantFuture))
        #expect(state.isFlowing)
    }

    @Test func `faults of the beginning act when the target is known`() {
        var state = machine([.connect(Connect(how: .delay(.seconds(2), jitter: .zero)))])
        #expect(state.started(at: Self.start).event == nil)
        _ = state.handshakeEnded(lookupLimit: .seconds(3), at: Self.start)
        let actions = state.resolved(at: Self.start)
        #expect(actions.event?.effect == .connectsLate)
        #expect(state.phase == .held)
        #expect(state.timerDue(at: Self.start + .seconds(2)).next == .dial(address: 0))
    }

    @Test(arguments: phases) func `has a time limit in each phase, and none acts before it`(
        phase: ConnectionState.Phase
    ) {
        var state = machine(in: phase)
        let deadline: Moment =
            if case .resolving(let moment) = phase { moment } else { Self.handshakeEnd }
        #expect(state.timerDue(at: Self.start + .seconds(1)) == ConnectionActions(timer: deadline))
        let end = state.timerDue(at: deadline)
        if case .replying = phase {
            #expect(end.next == .finish)
            #expect(end.client == .reset && end.server == .reset)
            #expect(state.phase == .closed)
        } else {
            #expect(end == ConnectionActions(timer: deadline + ConnectionState.handshakeLimit, .refuse))
        }
    }

    @Test(arguments: phases.prefix(2)) func `an invalid handshake gets its reply, then the end`(
        phase: ConnectionState.Phase
    ) {
        var state = machine(in: phase)
        #expect(state.handshakeRefused(at: Self.start) == ConnectionActions(timer: Self.handshakeEnd, .sendReply))
        let end = state.replySent()
        #expect(end.client == .endStream)
        #expect(end.next == .linger(.client, .closure))
    }

    @Test func `a target that can't be reached is told, not reset`() {
        var state = machine(in: .connecting(address: 0))
        let failure = state.dialFailed(.refused, of: 1, at: Self.start)
        #expect(failure == ConnectionActions(timer: Self.handshakeEnd, .refuse))
        #expect(state.phase == .replying(.refused, until: Self.handshakeEnd))
    }

    @Test func `an answer that waits comes at its moment, and nothing is read before`() {
        var state = machine(in: .negotiating(until: Self.handshakeEnd))
        let moment = Self.start + .seconds(3)
        #expect(state.handshakePaused(until: moment) == ConnectionActions(timer: moment))
        #expect(state.ready(.client, at: Self.start + .seconds(2)) == ConnectionActions())
        #expect(state.timerDue(at: Self.start + .seconds(2)) == ConnectionActions(timer: moment))
        #expect(state.timerDue(at: moment) == ConnectionActions(timer: Self.handshakeEnd, .negotiate))
        #expect(state.phase == .negotiating(until: Self.handshakeEnd))
        #expect(state.ready(.client, at: moment).next == .negotiate)
        var other = machine(in: .resolving(until: Self.start + .seconds(3)))
        #expect(other.handshakePaused(until: moment) == ConnectionActions())
    }

    @Test func `a late answer to a lookup changes nothing`() {
        var state = machine(in: .replying(.refused, until: Self.handshakeEnd))
        #expect(state.resolved(at: Self.start) == ConnectionActions())
        #expect(state.handshakeEnded(lookupLimit: .seconds(3), at: Self.start) == ConnectionActions())
        #expect(state.handshakeRefused(at: Self.start) == ConnectionActions())
    }

    @Test(arguments: phases, [false, true]) func `ends in every phase`(phase: ConnectionState.Phase, reset: Bool) {
        var state = machine(in: phase)
        let end = state.abandoned(reset: reset)
        #expect(end.next == .finish)
        #expect(end.client == (reset ? .reset : .close))
        #expect(state.phase == .closed)
    }
}
