import FaultPlan
import Glibc
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// What a client meets when it connects.
struct ConnectTests {
    private func connect(_ how: Connect.Mode, _ condition: Condition = Condition()) -> Profile {
        Profile(name: "test", faults: [fault(how, condition)])
    }

    private func fault(_ how: Connect.Mode, _ condition: Condition = Condition()) -> Fault {
        Fault(name: "connect", condition: condition, kind: .connect(Connect(how: how)))
    }

    /// The time until a client that connects and sends a byte has it back.
    private func roundTrip(_ fixture: Fixture) async throws -> Duration {
        try await blocking {
            try duration {
                let client = try fixture.client()
                try client.send([1])
                #expect(try client.receive(1) == [1])
            }
        }
    }

    @Test func `a delay is waited for, and what the client sends meanwhile arrives`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, connect(.delay(.milliseconds(80), jitter: .zero))) { fixture in
            let time = try await roundTrip(fixture)
            #expect(time >= .milliseconds(80))
            #expect(fixture.journal.rest.map(\.effect) == [.connectsLate])
            #expect(fixture.journal.rest.map(\.connection) == [1])
        }
    }

    /// Phases of 200 ms in which all is well and of 100 ms with a fault, for ever.
    private func inTurns(_ how: Connect.Mode) -> Profile {
        let phases = [
            Phase("here", .milliseconds(200)), Phase(name: "away", duration: .milliseconds(100), faults: [fault(how)]),
        ]
        return Profile([], phases: phases, repeats: true)
    }

    /// A client that the server has answered, however often it has to try.
    private func answered(_ fixture: Fixture) async throws -> TestSocket {
        let client = try await eventualValue {
            try await blocking { () -> TestSocket? in
                guard case .success(let client) = TestSocket.connected(to: fixture.proxy.address) else { return nil }
                return (try? client.send([1])) != nil && (try? client.receive(1)) == [1] ? client : nil
            }
        }
        return try #require(client)
    }

    @Test func `nobody accepts as long as a hang is on`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, connect(.hang)) { fixture in
            let clients = (0..<5).map { _ in TestSocket.connecting(to: fixture.proxy.address) }
            let entry = try await blocking { try fixture.journal.next() }
            #expect(entry.effect == .hangs && entry.connection == nil)
            let accepted = await fixture.proxy.statistics().accepted
            #expect(accepted == 0)
            #expect(clients.allSatisfy { $0.isConnecting })
            #expect(fixture.events.rest.isEmpty)
        }
    }

    @Test(arguments: [(Connect.Mode.hang, FaultEvent.Effect.hangs), (.refuse, .refuses)])
    func `live connections go on while nobody is let in, and others are let in afterwards`(
        how: Connect.Mode,
        effect: FaultEvent.Effect
    ) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, inTurns(how)) { fixture in
            let live = try await answered(fixture)
            for number in 2..<6 as Range<UInt8> {
                let (entry, answer) = try await blocking {
                    let entry = try fixture.journal.next()
                    try live.send([number])
                    return (entry, try live.receive(1))
                }
                #expect(entry.effect == effect && entry.connection == nil)
                #expect(answer == [number])
            }
            _ = try await answered(fixture)
            #expect(fixture.events.rest.isEmpty)
        }
    }

    @Test func `a refusal of everybody is one that connect tells`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, connect(.refuse)) { fixture in
            for _ in 0..<3 {
                let outcome = try await blocking { TestSocket.connected(to: fixture.proxy.address) }
                guard case .failure(let error) = outcome else {
                    Issue.record("a connection was made")
                    continue
                }
                #expect(error.code == ECONNREFUSED)
            }
        }
    }

    @Test func `a hang by condition is accepted by the system alone`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address, connect(.hang, Condition(connections: .range(1...1)))) { fixture in
            let hanging = try fixture.client()
            try hanging.send([1, 2, 3])
            let fine = try fixture.client()
            try fine.send([4])
            let first = try await blocking { try sockets.next().receive(3) }
            #expect(first == [4])
            #expect(fixture.journal.rest.map(\.effect) == [.hangs])
            #expect(fixture.journal.rest.map(\.connection) == [1])
            #expect(hanging.isQuiet)
            fine.close()
            hanging.resetAtClose()
            hanging.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            #expect(sockets.rest.isEmpty)
        }
    }

    @Test func `a hang by age is over at that age`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, connect(.hang, Condition(ageUntil: .milliseconds(80)))) { fixture in
            let time = try await roundTrip(fixture)
            #expect(time >= .milliseconds(80))
        }
    }

    @Test(arguments: [(Connect.Mode.close, StreamEnding.finish), (.refuse, .reset)])
    func `picked connections are ended at once, and the server never hears of them`(
        how: Connect.Mode,
        ending: StreamEnding
    ) async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address, connect(how, Condition(connections: .range(1...3)))) { fixture in
            let outcomes = try await blocking { try (0..<3).map { _ in try fixture.client().receiveAll() } }
            #expect(outcomes.map(\.ending) == [ending, ending, ending])
            #expect(outcomes.allSatisfy { $0.bytes.isEmpty })
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            #expect(sockets.rest.isEmpty)
            #expect(fixture.journal.rest.map(\.connection).count == 3)
        }
    }

    @Test func `one phase of refusal, silence and openness leads to the next`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let time = Duration.milliseconds(40)
        let phases = [
            Phase("open", .milliseconds(200)), Phase(name: "refused", duration: time, faults: [fault(.refuse)]),
            Phase(name: "hanging", duration: time, faults: [Fault(name: "hang", kind: .connect(Connect(how: .hang)))]),
            Phase(
                name: "refused again",
                duration: time,
                faults: [Fault(name: "refuse", kind: .connect(Connect(how: .refuse)))]
            ),
        ]
        try await withProxy(to: server.address, Profile([], phases: phases, repeats: true)) { fixture in
            // On a busy machine a phase may be left out.
            let effects = try await blocking { try (0..<9).map { _ in try fixture.journal.next().effect } }
            #expect(Set(effects) == [.refuses, .hangs])
            // Whenever it comes, a client that keeps trying is answered in the end.
            _ = try await answered(fixture)
            #expect(fixture.events.rest.isEmpty)
        }
    }
}

/// A server whose table of connections is full.
struct ConnectionLimitTests {
    private func limit(_ limit: Int, _ how: ConnectionLimit.Mode) -> FaultKind {
        .connectionLimit(ConnectionLimit(limit: limit, how: how))
    }

    @Test func `one connection more is reset, and one is let in when another has ended`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, Profile([limit(2, .refuse)])) { fixture in
            let kept = try await fixture.answeredClients(2)
            try await blocking {
                for _ in 0..<3 {
                    let ending = try fixture.client().receiveAll().ending
                    #expect(ending == .reset)
                }
            }
            #expect(fixture.journal.rest.map(\.effect) == [.refuses, .refuses, .refuses])
            #expect(fixture.journal.rest.allSatisfy { $0.connection == nil })
            for client in kept { client.close() }
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            _ = try await fixture.answeredClients(2)
        }
    }

    @Test(arguments: [1, 3]) func `one connection more waits in the queue until another ends`(threads: Int)
        async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, Profile([limit(2, .hang)]), threads: threads) { fixture in
            var open = try await fixture.answeredClients(2)
            for round in 0..<5 {
                let waiting = try fixture.client()
                try waiting.send([9])
                let entry = try await blocking { try fixture.journal.next() }
                #expect(entry.effect == .hangs && entry.connection == nil)
                #expect(waiting.isQuiet)
                let accepted = await fixture.proxy.statistics().accepted
                #expect(accepted == 2 + round)
                open.removeFirst().close()
                let answer = try await blocking { try waiting.receive(1) }
                #expect(answer == [9])
                open.append(waiting)
            }
        }
    }

    @Test func `who waits is let in when the phase of the limit is over`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let full = Fault(name: "full", kind: limit(1, .hang))
        let phases = [Phase(name: "full", duration: .milliseconds(400), faults: [full]), Phase("roomy", nil)]
        try await withProxy(to: server.address, Profile([], phases: phases)) { fixture in
            let clients = try await fixture.answeredClients(4)
            #expect(clients.count == 4)
            #expect(MonotonicClock.now - fixture.proxy.started >= .milliseconds(400))
        }
    }
}
