import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

/// A connection's state machine, phase by event.
@Suite("The state of a connection")
struct ConnectionStateTests {
    private static let start = Moment.seconds(1)

    /// A plan with these faults, and the machine of its first connection.
    private func machine(_ faults: [Fault]) -> (plan: Plan, state: ConnectionState) {
        var admitter = Admitter.of(.of(faults))
        let connection = admitter.accept(at: ConnectionStateTests.start)
        return (admitter.plan, ConnectionState(connection.faults, opened: connection.opened))
    }

    /// A machine that has come to a phase without faults.
    private func machine(in phase: ConnectionState.Phase, _ faults: [Fault] = []) -> (
        plan: Plan, state: ConnectionState
    ) {
        var (plan, state) = machine(faults)
        switch phase {
        case .accepted, .held, .negotiating, .resolving, .replying:
            break
        case .retrying:
            _ = state.started(at: ConnectionStateTests.start)
            _ = state.dialFailed(.queueIsFull, of: 1, at: ConnectionStateTests.start)
        case .connecting:
            _ = state.started(at: ConnectionStateTests.start)
        case .unreached:
            _ = state.started(at: ConnectionStateTests.start)
            _ = state.dialFailed(.refused, of: 1, at: ConnectionStateTests.start)
        case .flowing:
            _ = state.started(at: ConnectionStateTests.start)
            _ = state.connected(at: .zero)
        case .lingering(let peer):
            (plan, state) = machine(in: .flowing, faults)
            let direction = peer == .server ? Direction.upstream : .downstream
            _ = state.linkEnded(direction, .reset, isOtherFinished: false, of: plan, at: Self.start)
        case .blackholed:
            (plan, state) = machine(in: .flowing, faults)
            _ = state.linkEnded(.upstream, .cut(.silence), isOtherFinished: false, of: plan, at: Self.start)
        case .cutPending(let peer, let how):
            (plan, state) = machine(in: .flowing, faults)
            let direction = peer == .server ? Direction.upstream : .downstream
            _ = state.linkEnded(
                direction,
                .cut(how),
                isOtherFinished: false,
                of: plan,
                at: Self.start,
                mayReconnect: true
            )
        case .closed:
            _ = state.abandoned(reset: true)
        }
        return (plan, state)
    }

    private let reached: [ConnectionState.Phase] = [
        .accepted, .retrying(at: .milliseconds(1_005)), .connecting(address: 0),
        .unreached(until: .milliseconds(1_050)), .flowing, .cutPending(.client, .reset), .lingering(.client),
        .lingering(.server), .blackholed, .closed,
    ]

    // MARK: Beginning

    @Test func `dials at once without faults`() {
        var (_, state) = machine([])
        #expect(state.started(at: Self.start) == ConnectionActions(timer: .distantFuture, .dial(address: 0)))
        #expect(state.phase == .connecting(address: 0))
        #expect(state.ready(.server, at: Self.start).next == .finishDialing)
        #expect(state.connected(at: .zero) == ConnectionActions(timer: .distantFuture))
        #expect(state.isFlowing)
    }

    @Test func `dials when its delay is over, and not before`() {
        var (_, state) = machine([.connect(.delay(.seconds(2), jitter: .zero))])
        let actions = state.started(at: Self.start)
        #expect(actions.event?.effect == .connectsLate && actions.timer == .seconds(3) && actions.next == .checkEnds)
        #expect(state.timerDue(at: .milliseconds(2_999)) == ConnectionActions(timer: .seconds(3), .checkEnds))
        #expect(state.timerDue(at: .seconds(3)).next == .dial(address: 0))
    }

    @Test func `is left to the kernel while a fault hangs it, and dials afterwards`() {
        let hang = Fault.connect(.hang).when(Condition(ageUntil: .seconds(4)))
        var (_, state) = machine([hang])
        let actions = state.started(at: Self.start)
        #expect(actions.event?.effect == .hangs && actions.timer == .seconds(5) && actions.next == .checkEnds)
        #expect(state.ready(.client, at: .seconds(2)) == ConnectionActions(timer: .seconds(5), .checkEnds))
        #expect(state.timerDue(at: .seconds(5)).next == .dial(address: 0))
    }

    @Test(
        arguments: [
            (.refuse, ConnectionActions(timer: .milliseconds(1_050), .awaitFirstByte)),
            (.close, ConnectionActions(client: .endStream, .linger(.client, .closure))),
        ] as [(Connect.Mode, ConnectionActions)]
    )
    func `ends where it begins, if a fault has it so`(how: Connect.Mode, expected: ConnectionActions) {
        var (_, state) = machine([Fault.connect(how).when(Condition(connections: .every(1)))])
        var actions = state.started(at: Self.start)
        #expect(actions.event != nil)
        actions.event = nil
        #expect(actions == expected)
    }

    // MARK: Dialing

    @Test func `dials the next address when one fails, and then fails`() {
        var (_, state) = machine(in: .connecting(address: 0))
        #expect(state.dialFailed(.refused, of: 2, at: Self.start).next == .dial(address: 1))
        let failure = state.dialFailed(.refused, of: 2, at: Self.start)
        #expect(failure == ConnectionActions(timer: .milliseconds(1_050), .fail))
        #expect(state.phase == .unreached(until: .milliseconds(1_050)))
    }

    @Test func `a client whose server can't be reached is reset with its first byte`() {
        var (_, state) = machine(in: .unreached(until: .milliseconds(1_050)))
        #expect(state.failureReported() == ConnectionActions(.awaitFirstByte))
        #expect(state.ready(.client, at: .milliseconds(1_010)).next == .awaitFirstByte)
        #expect(state.firstByteCame() == ConnectionActions(client: .reset, .finish))
        #expect(state.phase == .closed)
    }

    @Test func `a client whose server can't be reached, and that sends nothing, is reset after 50 ms`() {
        var (_, state) = machine(in: .unreached(until: .milliseconds(1_050)))
        #expect(state.timerDue(at: .milliseconds(1_049)) == ConnectionActions(timer: .milliseconds(1_050)))
        #expect(state.timerDue(at: .milliseconds(1_050)) == ConnectionActions(client: .reset, .finish))
    }

    @Test func `a client whose server can't be reached gets the end of its stream, where the rules say so`() {
        var state = ConnectionState(.none, opened: Self.start, rules: EndingRules(closesUnreached: true))
        _ = state.started(at: Self.start)
        #expect(state.dialFailed(.timedOut, of: 1, at: Self.start).next == .fail)
        #expect(state.failureReported() == ConnectionActions(client: .endStream, .linger(.client, .closure)))
        #expect(state.phase == .lingering(.client))
    }

    @Test(
        arguments: [(.outOfDescriptors, 250), (.queueIsFull, 5)] as [(ConnectionState.DialFailure, Int64)]
    )
    func `dials again in a while when a resource is short, until its time is over`(
        failure: ConnectionState.DialFailure,
        pause: Int64
    ) {
        var (_, state) = machine(in: .connecting(address: 0))
        state.dialBegan(of: 1, timeout: .seconds(10), at: Self.start)
        let again = Self.start + .milliseconds(pause)
        #expect(state.dialFailed(failure, of: 1, at: Self.start) == ConnectionActions(timer: again))
        #expect(state.timerDue(at: again).next == .dial(address: 0))
        state.dialBegan(of: 1, timeout: .seconds(10), at: again)
        #expect(state.dialFailed(failure, of: 1, at: .seconds(11)).next == .fail)
    }

    @Test func `gives every address an equal share of the time`() {
        var (_, state) = machine(in: .connecting(address: 0))
        state.dialBegan(of: 2, timeout: .seconds(10), at: Self.start)
        #expect(!state.isDialOverdue(at: .milliseconds(5_999)))
        #expect(state.isDialOverdue(at: .seconds(6)))
        _ = state.dialFailed(.timedOut, of: 2, at: .seconds(6))
        state.dialBegan(of: 2, timeout: .seconds(10), at: .seconds(6))
        #expect(!state.isDialOverdue(at: .milliseconds(10_999)))
        #expect(state.isDialOverdue(at: .seconds(11)))
    }

    // MARK: Flowing

    @Test(
        arguments: [
            (.upstream, .finish, ConnectionActions(server: .endStream)),
            (.downstream, .finish, ConnectionActions(client: .endStream)),
            (.upstream, .reset, ConnectionActions(client: .reset, .linger(.server, .acknowledgement))),
            (.downstream, .reset, ConnectionActions(server: .reset, .linger(.client, .acknowledgement))),
            (.downstream, .cut(.reset), ConnectionActions(server: .reset, .linger(.client, .acknowledgement))),
            (
                .upstream, .cut(.close),
                ConnectionActions(server: .endStream, client: .endStream, .linger(.server, .closure))
            ),
            (
                .downstream, .cut(.close),
                ConnectionActions(server: .endStream, client: .endStream, .linger(.client, .closure))
            ),
            (.upstream, .cut(.silence), ConnectionActions(timer: .distantFuture, .blackhole)),
        ] as [(Direction, Ending, ConnectionActions)]
    )
    func `passes the end of a link on`(direction: Direction, ending: Ending, expected: ConnectionActions) {
        var (plan, state) = machine(in: .flowing)
        #expect(state.linkEnded(direction, ending, isOtherFinished: false, of: plan, at: Self.start) == expected)
    }

    @Test func `a cut that closes, closes both ends at once where the rules say so`() {
        for direction in [Direction.upstream, .downstream] {
            var state = ConnectionState(.none, opened: Self.start, rules: EndingRules(closesAtOnce: true))
            _ = state.started(at: Self.start)
            _ = state.connected(at: Self.start)
            let plan = Plan.of(.of([]))
            let end = state.linkEnded(direction, .cut(.close), isOtherFinished: false, of: plan, at: Self.start)
            #expect(end == ConnectionActions(server: .close, client: .close, .finish))
        }
    }

    /// Of a link to the server, and one to the client, that is open, finished, or has a broken sink.
    @Test func `decides by the state of both links`() {
        let states: [ConnectionState.LinkState] = [.open, .finished, .sinkBroken]
        func actions(isBroken: Bool) -> [ConnectionActions] {
            states.flatMap { up in
                states.map { down in
                    var (_, state) = machine(in: .flowing)
                    return state.linksMoved(up, down) { _ in isBroken }
                }
            }
        }
        let toServer = ConnectionActions(client: .reset, .linger(.server, .acknowledgement))
        let toClient = ConnectionActions(server: .reset, .linger(.client, .acknowledgement))
        let none = ConnectionActions()
        #expect(
            actions(isBroken: false) == [
                none, none, ConnectionActions(.deliverRest(to: .server)),
                none, ConnectionActions(server: .close, client: .close, .finish), toServer,
                ConnectionActions(.deliverRest(to: .client)), toClient,
                ConnectionActions(server: .reset, client: .reset, .finish),
            ]
        )
        #expect(actions(isBroken: true)[1] == toClient && actions(isBroken: true)[3] == toServer)
    }

    @Test func `ends a client's stream with the response that a fault has given`() throws {
        let fault = Fault(name: "http", kind: .http(.answer(HTTPAnswer(status: 503))))
        var (plan, state) = machine(in: .flowing, [fault])
        let answer = Ending.answer(request: 2, fault: 0)
        let asked = state.linkEnded(.upstream, answer, isOtherFinished: false, of: plan, at: Self.start)
        #expect(asked == ConnectionActions() && state.requestToAnswer == 2)
        let given = state.takeAnswer()
        #expect(given?.request == 2 && given?.answer.status == 503 && given?.plan === plan)
        let place = MessagePlace(base: .connection, request: 2)
        #expect(given?.event == FaultEvent(fault: 0, offset: nil, place: place, effect: .answers))
        #expect(state.requestToAnswer == nil)
        let end = state.linkEnded(.downstream, .finish, isOtherFinished: true, of: plan, at: Self.start)
        #expect(end == ConnectionActions(client: .endStream, .linger(.client, .closure)))
    }

    @Test func `ends the server's stream where that response can't be given`() throws {
        let fault = Fault(name: "http", kind: .http(.answer(HTTPAnswer(status: 503))))
        var (plan, state) = machine(in: .flowing, [fault])
        let answer = Ending.answer(request: 2, fault: 0)
        _ = state.linkEnded(.upstream, answer, isOtherFinished: false, of: plan, at: Self.start)
        #expect(state.answerFailed() == ConnectionActions(server: .endStream))
        #expect(state.requestToAnswer == nil && state.takeAnswer() == nil)
        let end = state.linkEnded(.downstream, .finish, isOtherFinished: true, of: plan, at: Self.start)
        #expect(end == ConnectionActions(client: .endStream, .linger(.client, .closure)))
    }

    // MARK: The end

    @Test func `is abandoned in any phase, and once`() {
        for phase in reached {
            var (_, state) = machine(in: phase)
            #expect(state.phase == phase)
            let actions = state.abandoned(reset: true)
            let both = ConnectionActions(server: .reset, client: .reset, .finish)
            switch phase {
            case .closed: #expect(actions == ConnectionActions())
            case .lingering: #expect(actions == ConnectionActions(server: .close, client: .close, .finish))
            case .accepted, .held, .retrying, .unreached:
                #expect(actions == ConnectionActions(client: .reset, .finish))
            case .connecting, .flowing, .cutPending, .blackholed: #expect(actions == both)
            case .negotiating, .resolving, .replying: Issue.record("see NegotiationTests")
            }
            #expect(state.abandoned(reset: true) == ConnectionActions())
        }
    }

    @Test func `answers every event in every phase without leaving the table`() {
        for phase in reached {
            var (_, state) = machine(in: phase)
            let ready = [Peer.client, .server].map { state.ready($0, at: Self.start).next }
            let expected: [ConnectionActions.Next] =
                switch phase {
                case .accepted, .cutPending, .closed: [.proceed, .proceed]
                case .held, .retrying, .blackholed: [.checkEnds, .checkEnds]
                case .connecting: [.checkEnds, .finishDialing]
                case .unreached: [.awaitFirstByte, .awaitFirstByte]
                case .flowing: [.run, .run]
                case .lingering(let peer): [.keepLingering(peer), .keepLingering(peer)]
                // See NegotiationTests.
                case .negotiating, .resolving, .replying: []
                }
            #expect(ready == expected)
            #expect(state.phase == phase)
        }
    }

    /// An outage from the second second on.
    private let outage = Fault(
        name: "outage",
        condition: Condition(ageFrom: .seconds(1)),
        kind: .outage(Outage(how: .reset))
    )

    @Test func `is reset by an outage, as soon as the listener refuses clients`() {
        var (_, state) = machine(in: .flowing, [outage])
        #expect(state.mayTerminate)
        #expect(state.terminated(at: .milliseconds(1_999)) == nil)
        let first = state.terminated(at: .seconds(2), mayReconnect: { _ in true })
        #expect(first == ConnectionActions(timer: .milliseconds(2_100), .awaitRefusal))
        #expect(state.terminated(at: .milliseconds(2_050), mayReconnect: { _ in true })?.next == .proceed)
        let end = state.terminated(at: .milliseconds(2_051), mayReconnect: { _ in false })
        #expect(end?.event?.effect == .resets && end?.server == .reset && end?.client == .reset && end?.next == .finish)
    }

    @Test func `is reset by an outage after 100 ms whatever the listener does`() {
        var (_, state) = machine(in: .flowing, [outage])
        _ = state.terminated(at: .seconds(2), mayReconnect: { _ in true })
        #expect(state.terminated(at: .milliseconds(2_100), mayReconnect: { _ in true })?.next == .finish)
    }

    @Test(
        arguments: [
            (.reset, ConnectionActions(server: .reset, .linger(.client, .acknowledgement))),
            (.close, ConnectionActions(server: .endStream, client: .endStream, .linger(.client, .closure))),
        ] as [(Cut.Ending, ConnectionActions)]
    )
    func `that is cut waits for a listener that is about to refuse, 100 ms at most`(
        how: Cut.Ending,
        expected: ConnectionActions
    ) {
        var (plan, state) = machine(in: .flowing)
        let pending = state.linkEnded(
            .downstream,
            .cut(how),
            isOtherFinished: false,
            of: plan,
            at: Self.start,
            mayReconnect: true
        )
        #expect(pending == ConnectionActions(timer: .milliseconds(1_100), .awaitRefusal))
        #expect(state.ready(.client, at: Self.start) == ConnectionActions())
        #expect(state.timerDue(at: .milliseconds(1_001)) == expected)
    }

    @Test(arguments: [Cut.Ending.close, .reset])
    func `that its age ends has the event noted, and waits for a listener that is about to refuse`(how: Cut.Ending) {
        var (_, state) = machine(in: .flowing, [.cut(.after(.seconds(1)), how)])
        var noted: [FaultEvent] = []
        let pending = state.terminated(at: .seconds(2)) { event in
            noted.append(event)
            return true
        }
        #expect(pending == ConnectionActions(timer: .milliseconds(2_100), .awaitRefusal))
        #expect(noted == [FaultEvent(fault: 0, offset: nil, effect: .cuts(how))])
        #expect(state.terminated(at: .milliseconds(2_001))?.event == noted[0])
    }

    @Test func `in silence is ended by its age when the silence is over`() {
        let silence = Fault.outage(.silence).when(Condition(ageFrom: .seconds(1), ageUntil: .seconds(8)))
        var (_, state) = machine(in: .flowing, [silence, .cut(.after(.seconds(3)))])
        #expect(state.nextTermination(after: Self.start) == .seconds(4))
        #expect(state.terminated(at: .seconds(4)) == nil)
        #expect(state.nextTermination(after: .seconds(4)) == .seconds(9))
        #expect(state.terminated(at: .seconds(9))?.next == .finish)
    }

    @Test func `that is idle for its time ends, and a byte renews the time`() {
        let idle = Fault(name: "cut", kind: .cut(Cut(position: .idle(.seconds(3)), how: .close)))
        var (_, state) = machine(in: .flowing, [idle])
        #expect(state.nextTermination(after: Self.start) == .seconds(4))
        state.notePassed(1, at: .seconds(2))
        #expect(state.terminated(at: .seconds(4)) == nil)
        #expect(state.nextTermination(after: .seconds(4)) == .seconds(5))
        let end = state.terminated(at: .seconds(5))
        #expect(end?.server == .endStream && end?.client == .endStream && end?.next == .linger(.client, .closure))
    }
}
