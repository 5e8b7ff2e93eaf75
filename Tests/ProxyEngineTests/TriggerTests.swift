import EventLoop
import FaultPlan
import Glibc
import OperatingSystem
import ProxyEngine
import TestSockets
import Testing
import Units

@testable import FaultProfile

/// What turns faults on and off, with real sockets.
struct TriggerTests {
    private static let long = Duration.seconds(86_400)

    private func source(_ host: String) throws -> SocketAddress {
        try #require(SocketAddress(numericHost: host, port: 0))
    }

    @Test func `a fault for an address acts on the clients of that address alone`() async throws {
        let server = TestServer { $0.sendUntilBroken(Array(repeating: 1, count: 2_000)) }
        defer { server.stop() }
        let condition = Condition(clients: [try AddressRange(parsing: "127.0.0.2")])
        let cut = Fault(name: "cut", condition: condition, kind: .cut(Cut(position: .at(ByteCount(500)), how: .close)))
        let hosts = ["127.0.0.2", "127.0.0.3", "127.0.0.1", "127.0.0.2"]
        let sources = try hosts.map(source)
        try await withProxy(to: server.address, Profile(name: "test", faults: [cut])) { fixture in
            let counts = try await blocking {
                try sources.map { source in
                    let client = try TestSocket.connected(to: fixture.proxy.address, from: source).get()
                    return client.receiveAll().bytes.count
                }
            }
            #expect(counts == [500, 2_000, 2_000, 500])
        }
    }

    @Test func `what comes after a cut is on for whoever connects again, and not for whoever is connected`()
        async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        let crash = Fault(
            name: "crash",
            stream: .downstream,
            condition: Condition(connections: .range(2...2)),
            kind: .cut(Cut(position: .at(ByteCount(3)), how: .reset))
        )
        let after = Fault(
            name: "after",
            stream: .downstream,
            condition: Condition(after: "crash"),
            kind: .cut(Cut(position: .at(ByteCount(1)), how: .close))
        )
        try await withProxy(to: server.address, Profile(name: "test", faults: [after, crash])) { fixture in
            try await blocking {
                let live = try fixture.client()
                try live.send([1])
                #expect(try live.receive(1) == [1])
                let second = try fixture.client()
                try second.send([1, 2, 3, 4])
                #expect(second.receiveAll().bytes == [1, 2, 3])
                let third = try fixture.client()
                try third.send([1, 2, 3, 4])
                #expect(third.receiveAll().bytes == [1])
                try live.send([5, 6])
                #expect(try live.receive(exactly: 2) == [5, 6])
            }
            #expect(fixture.journal.rest.map(\.fault) == ["crash", "after"])
        }
    }

    @Test func `a refusal that comes after a cut refuses, and leaves live connections alone`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let crash = Fault(
            name: "crash",
            condition: Condition(connections: .range(2...2)),
            kind: .cut(Cut(position: .at(ByteCount(1)), how: .reset))
        )
        let gone = Fault(name: "gone", condition: Condition(after: "crash"), kind: .outage(Outage(how: .refuse)))
        try await withProxy(to: server.address, Profile(name: "test", faults: [crash, gone])) { fixture in
            try await blocking {
                let live = try fixture.client()
                try live.send([1])
                #expect(try live.receive(1) == [1])
                let second = try fixture.client()
                try second.send([1, 2])
                _ = second.receiveAll()
                // Whoever is quicker than the listener is accepted and reset; then nobody listens.
                let deadline = MonotonicClock.now + .seconds(30)
                var code: Int32 = 0
                while code != ECONNREFUSED, MonotonicClock.now < deadline {
                    switch TestSocket.connected(to: fixture.proxy.address) {
                    case .success(let client): #expect(client.receiveAll().ending == .reset)
                    case .failure(let error): code = error.code
                    }
                }
                #expect(code == ECONNREFUSED)
                try live.send([7])
                #expect(try live.receive(1) == [7])
            }
            #expect(fixture.journal.rest.contains { $0.fault == "gone" && $0.effect == .refuses })
        }
    }

    @Test func `a duty cycle refuses and lets in, again and again`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let duty = DutyCycle(on: .milliseconds(30), off: .milliseconds(30), offset: .milliseconds(30))
        let gone = Fault(name: "gone", condition: Condition(duty: duty), kind: .outage(Outage(how: .refuse)))
        try await withProxy(to: server.address, Profile(name: "test", faults: [gone])) { fixture in
            let (refused, accepted) = try await blocking { () -> (Int, Int) in
                var turns: [Bool] = []
                let deadline = MonotonicClock.now + .seconds(30)
                while turns.count < 6, MonotonicClock.now < deadline {
                    let isOpen: Bool
                    switch TestSocket.connected(to: fixture.proxy.address) {
                    case .success: isOpen = true
                    case .failure: isOpen = false
                    }
                    if turns.last != isOpen { turns.append(isOpen) }
                }
                return (turns.count { !$0 }, turns.count { $0 })
            }
            #expect(refused == 3 && accepted == 3)
            let cycle = Duration.milliseconds(60).nanoseconds
            let began = fixture.journal.rest.filter { $0.effect == .refuses }.map { entry in
                (entry.moment - fixture.proxy.started).nanoseconds % cycle
            }
            #expect(began.count >= 3 && began.allSatisfy { $0 >= Duration.milliseconds(30).nanoseconds })
        }
    }

    @Test(arguments: [(Duration.zero - TriggerTests.long, true), (TriggerTests.long, false)])
    func `a clock that started long ago is in its last phase, one that is to start in none`(
        sinceNow: Duration,
        isRefused: Bool
    ) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let reset = FaultKind.cut(Cut(position: .at(.zero), how: .reset))
        let first = Phase(name: "first", duration: .seconds(9), faults: [Fault(name: "cut", kind: reset)])
        let profile = Profile(
            name: "test",
            faults: [Fault(name: "late", kind: .latency(Latency(delay: .milliseconds(1))))],
            phases: [first, Phase("last", nil, .refuse)]
        )
        try await withProxy(to: server.address, profile, clockStart: MonotonicClock.now + sinceNow) { fixture in
            let code = try await blocking { () -> Int32 in
                switch TestSocket.connected(to: fixture.proxy.address) {
                case .success(let client):
                    try client.send([1])
                    #expect(try client.receive(1) == [1])
                    return 0
                case .failure(let error):
                    return error.code
                }
            }
            #expect(code == (isRefused ? ECONNREFUSED : 0))
            #expect(fixture.proxy.phase(at: MonotonicClock.now)?.name == (isRefused ? "last" : nil))
            #expect(fixture.journal.rest.map(\.fault) == (isRefused ? ["last/outage"] : ["late", "late"]))
        }
    }
}
