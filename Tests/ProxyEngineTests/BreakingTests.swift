import EventLoop
import FaultPlan
import Glibc
import Synchronization
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile
@testable import ProxyEngine

/// Peers that go while bytes for them are on their way.
struct BreakingTests {
    static let profiles = [
        Profile(name: "plain"),
        Profile([.latency(Latency(delay: .milliseconds(1), jitter: .zero, distribution: .uniform))]),
        Profile([.bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: 1_000_000), burst: .zero, scope: .connection))]),
    ]

    enum Peer: CaseIterable {
        case client
        case server
    }

    /// Both ends of a connection through the proxy, over which a byte has gone each way.
    private func peers(_ fixture: Fixture, _ listener: TestSocket) async throws -> (TestSocket, TestSocket) {
        try await blocking {
            let client = try fixture.client()
            let server = try listener.accepted()
            try client.send([1])
            #expect(try server.receive(1) == [1])
            try server.send([2])
            #expect(try client.receive(1) == [2])
            return (client, server)
        }
    }

    /// Does `body` while the only loop of the proxy can't, so that it hears of everything at once.
    private func whileHeld(_ fixture: Fixture, _ body: @escaping @Sendable () throws -> Void) async throws {
        let loop = fixture.loops.loops[0]
        let (isHeld, mayGoOn) = (Slot<Void>(), Slot<Void>())
        let isPosted = loop.post {
            isHeld.put(())
            _ = try? mayGoOn.next()
        }
        #expect(isPosted)
        try await blocking {
            try isHeld.next()
            defer { mayGoOn.put(()) }
            try body()
        }
    }

    @Test(arguments: BreakingTests.profiles)
    func `both at once leave nothing behind`(profile: Profile) async throws {
        let (listener, address) = TestSocket.listening()
        try await withProxy(to: address, profile, threads: 1) { fixture in
            for _ in 0..<5 {
                let (client, server) = try await peers(fixture, listener)
                try await whileHeld(fixture) {
                    for peer in [client, server] {
                        try peer.send(Array("0123456789".utf8))
                        peer.resetAtClose()
                        peer.close()
                    }
                }
            }
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    /// Sends until nothing has been taken for 100 ms.
    private static func fill(_ socket: TestSocket) {
        let block = [UInt8](repeating: 0, count: 1 << 16)
        var entry = pollfd(fd: socket.descriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&entry, 1, 100) == 1, send(socket.descriptor, block, block.count, Int32(MSG_DONTWAIT)) > 0 {}
    }

    @Test(arguments: Peer.allCases, BreakingTests.profiles.dropLast())
    func `one of them while both send and neither receives is told to the other at once`(
        gone: Peer,
        profile: Profile
    ) async throws {
        let (listener, address) = TestSocket.listening()
        try await withProxy(to: address, profile) { fixture in
            let (client, server) = try await peers(fixture, listener)
            let (dead, live) = gone == .client ? (client, server) : (server, client)
            let ending = try await blocking {
                BreakingTests.fill(live)
                BreakingTests.fill(dead)
                BreakingTests.fill(live)
                dead.resetAtClose()
                dead.close()
                let error = #expect(throws: Errno.self) {
                    let block = [UInt8](repeating: 0, count: 1 << 20)
                    for _ in 0..<256 { try live.send(block) }
                }
                return error?.code
            }
            #expect(ending == ECONNRESET || ending == EPIPE)
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test(arguments: Peer.allCases)
    func `one of them doesn't keep what it had sent from the other, who was sending`(gone: Peer) async throws {
        let (listener, address) = TestSocket.listening()
        try await withProxy(to: address) { fixture in
            let (client, server) = try await peers(fixture, listener)
            let (dead, live) = gone == .client ? (client, server) : (server, client)
            let answer = testBytes(10_000)
            let outcome = try await blocking {
                try dead.send(answer)
                #expect(live.waitUntilReadable())
                BreakingTests.fill(live)
                dead.resetAtClose()
                dead.close()
                return live.receiveAll()
            }
            #expect(isSame(outcome.bytes, as: answer))
            #expect(outcome.ending == .reset)
        }
    }

    static let endings = [
        Profile(name: "plain"),
        Profile([.latency(Latency(delay: .milliseconds(1), jitter: .zero, distribution: .uniform))]),
        Profile([.cut(Cut(position: .at(ByteCount(600_000)), how: .reset))], on: .upstream),
    ]

    @Test(arguments: BreakingTests.endings)
    func `a receiver that sends before it receives has all that came before the reset`(profile: Profile) async throws {
        let (listener, address) = TestSocket.listening()
        listener.setReceiveBuffer(32_768)
        // 40 MiB may take the sender longer than 10 s where the machine is busy.
        var limits = DrainLimits()
        limits.resetGrace = .seconds(300)
        try await withProxy(to: address, profile, drainLimits: limits) { fixture in
            let (client, server) = try await peers(fixture, listener)
            let sent = testBytes(600_000 - 1)
            async let outcome = blocking {
                server.sendUntilBroken([UInt8](repeating: 0, count: 40 << 20), writeSize: 1 << 20)
                return server.receiveAll()
            }
            try await blocking {
                try client.send(sent)
                BreakingTests.fill(client)
                client.resetAtClose()
                client.close()
            }
            let (bytes, ending) = try await outcome
            #expect(isSame(Array(bytes.prefix(sent.count)), as: sent))
            #expect(ending == .reset)
            let told = fixture.events.rest.filter { event in
                if case .late = event { false } else { true }  // 40 MiB keep a busy machine from its times
            }
            #expect(told.isEmpty)
        }
    }

    @Test func `an urgent byte in a stream in bulk takes nothing of it away`() async throws {
        let (listener, address) = TestSocket.listening()
        try await withProxy(to: address) { fixture in
            let (client, server) = try await peers(fixture, listener)
            let (bulk, rest) = (testBytes(12_000_000), testBytes(500_000, seed: 2))
            async let received = blocking { server.receiveAll() }
            try await blocking {
                try client.send(bulk)
                #expect(send(client.descriptor, [UInt8(ascii: "!")], 1, Int32(MSG_OOB)) == 1)
                try client.send(rest)
                client.endWriting()
            }
            let outcome = try await received
            #expect(isSame(outcome.bytes, as: bulk + rest))
            #expect(outcome.ending == .finish)
        }
    }

    @Test func `a head that waits behind an answer costs no time`() async throws {
        let (listener, address) = TestSocket.listening()
        let answer = HTTPFault.answer(HTTPAnswer(status: 503, fields: [], body: ""))
        let fault = Fault(
            name: "http",
            condition: Condition(http: HTTPCondition(requests: .range(2...2))),
            kind: .http(answer)
        )
        try await withProxy(to: address, Profile(name: "test", faults: [fault]), threads: 1) { fixture in
            let client = try fixture.client()
            let spent = try await blocking {
                let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
                try client.send(Array((request + request + "GET / HT").utf8))
                let server = try listener.accepted()
                #expect(try server.receive(exactly: request.utf8.count) == Array(request.utf8))
                try server.send(Array("not HTTP\n".utf8))
                #expect(try client.receive(exactly: 9) == Array("not HTTP\n".utf8))
                let before = try fixture.processorTime()
                // Nothing comes; it is the time in which a loop that has nothing to do does nothing.
                var entry = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
                #expect(poll(&entry, 1, 300) == 0)
                return try fixture.processorTime() - before
            }
            #expect(spent < .milliseconds(100))
        }
    }
}

extension Fixture {
    /// The processor time that the first loop's thread has taken.
    fileprivate func processorTime() throws -> Duration {
        let time = Slot<Duration>()
        _ = loops.loops[0].post {
            var spent = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent)
            time.put(.seconds(spent.tv_sec) + .nanoseconds(spent.tv_nsec))
        }
        return try time.next()
    }
}
