import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

/// The ends of connections in which proxies may differ.
@Suite(.timeLimit(.minutes(5))) struct EndingTests {
    /// An address of this machine at which nobody listens.
    private func deadAddress() throws -> SocketAddress {
        try #require(SocketAddress(numericHost: "127.0.0.1", port: 9))
    }

    private let limit = Profile([.cut(Cut(position: .limit(ByteCount(10)), how: .close))], on: .downstream)

    @Test(arguments: [[], [1, 2, 3]] as [[UInt8]])
    func `a client whose upstream is down is connected, then reset`(sent: [UInt8]) async throws {
        try await withProxy(to: try deadAddress()) { fixture in
            let client = try fixture.client()
            if !sent.isEmpty { client.sendUntilBroken(sent) }
            let outcome = try await blocking { client.receiveAll() }
            #expect(outcome.bytes.isEmpty && outcome.ending == .reset)
            #expect(await fixture.becomes { $0.failed == 1 && $0.open == 0 })
            client.close()
        }
    }

    @Test(arguments: [[], [1, 2, 3]] as [[UInt8]])
    func `a client whose upstream is down gets the end of its stream where the proxy is one of Toxiproxy's API`(
        sent: [UInt8]
    ) async throws {
        try await withProxy(to: try deadAddress(), endings: EndingRules(closesUnreached: true)) { fixture in
            let client = try fixture.client()
            if !sent.isEmpty { client.sendUntilBroken(sent) }
            let outcome = try await blocking { client.receiveAll() }
            #expect(outcome.bytes.isEmpty && outcome.ending == .finish)
            client.close()
            #expect(await fixture.becomes { $0.failed == 1 && $0.open == 0 })
        }
    }

    /// The end that the sender of a cut stream sees.
    private func endOfSender(_ profile: Profile, _ endings: EndingRules = EndingRules()) async throws -> StreamEnding {
        let ends = Slot<StreamEnding>()
        let server = TestServer { socket in
            // A reset may be told by the send, or by the receive after it.
            let isSent = (try? socket.send(testBytes(1 << 20))) != nil
            ends.put(isSent ? socket.receiveAll().ending : .reset)
        }
        defer { server.stop() }
        return try await withProxy(to: server.address, profile, endings: endings) { fixture in
            let client = try fixture.client()
            let (outcome, end) = try await blocking { (client.receiveAll(), try ends.next()) }
            #expect(outcome.bytes.count == 10 && outcome.ending == .finish)
            client.close()
            #expect(await fixture.becomesIdle())
            return end
        }
    }

    @Test func `the sender of a stream that is cut by a close sees a close`() async throws {
        #expect(try await endOfSender(limit) == .finish)
        let offset = Profile([.cut(Cut(position: .at(ByteCount(10)), how: .close))], on: .downstream)
        #expect(try await endOfSender(offset) == .finish)
    }

    @Test func `the sender of a stream that is cut as by Toxiproxy is reset if it has sent more`() async throws {
        #expect(try await endOfSender(limit, EndingRules(closesAtOnce: true)) == .reset)
    }

    @Test func `a reset that waits for its receiver stays one when the proxy stops, and is reported`() async throws {
        let sent = testBytes(4 << 20)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let cut = Cut(position: .at(ByteCount(400_000)), how: .reset)
        try await withProxy(to: server.address, Profile([.cut(cut)], on: .downstream)) { fixture in
            let client = try fixture.client()
            client.setReceiveBuffer(4_096)
            let entry = try await blocking { try fixture.journal.next() }
            #expect(entry.effect == .cuts(.reset))
            await fixture.proxy.stop()
            let outcome = try await blocking { client.receiveAll() }
            #expect(outcome.bytes.count < 400_000 && outcome.ending == .reset)
            let isReported = fixture.events.rest.contains { event in
                if case .unacknowledgedAtReset(connection: 1, bytes: 1...) = event { true } else { false }
            }
            #expect(isReported)
        }
    }

    @Test func `a cut by reset stays one when the proxy stops after it has left its port`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let cut = Cut(position: .at(ByteCount(2)), how: .reset)
        let crash = Fault(name: "crash", stream: .downstream, kind: .cut(cut))
        let gone = Fault(name: "gone", condition: Condition(after: "crash"), kind: .outage(Outage(how: .refuse)))
        try await withProxy(to: server.address, Profile(name: "test", faults: [crash, gone])) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            await fixture.proxy.leavePort()
            try client.send([2])
            let entry = try await blocking { try fixture.journal.next() }
            #expect(entry.fault == "crash")
            await fixture.proxy.stop()
            let outcome = try await blocking { client.receiveAll() }
            #expect(outcome.ending == .reset)
        }
    }

    /// Faults that hold a reset, or bytes, that a server of 1,000 bytes sends.
    enum Held: CaseIterable {
        case slowClose, silence, cut, latency, bandwidth

        var kinds: [FaultKind] {
            let hour = Duration.seconds(3_600)
            return switch self {
            case .slowClose: [.slowClose(SlowClose(delay: hour))]
            case .silence: [.outage(Outage(how: .silence))]
            case .cut: [.cut(Cut(position: .at(ByteCount(1_000)), how: .reset)), .slowClose(SlowClose(delay: hour))]
            case .latency: [.latency(Latency(delay: hour))]
            case .bandwidth: [.bandwidth(Bandwidth(rate: .bytesPerSecond(1)))]
            }
        }

        var profile: Profile { Profile(kinds, on: self == .silence ? .both : .downstream) }

        var resetsServer: Bool { self == .slowClose || self == .silence }
    }

    @Test(arguments: Held.allCases)
    func `a reset or bytes that a fault holds aren't an orderly end when the proxy stops`(held: Held) async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address, held.profile) { fixture in
            let client = try fixture.client()
            let served = try await blocking {
                let served = try sockets.next()
                if held.resetsServer {
                    served.resetAtClose()
                    served.close()
                } else {
                    try served.send([UInt8](repeating: 1, count: 1_000))
                }
                _ = try fixture.journal.next()
                return served
            }
            await fixture.proxy.stop()
            #expect(try await blocking { client.receiveAll().ending } == .reset)
            served.close()
            client.close()
        }
    }

    private func discard(_ closeAfter: Duration? = nil) -> Profile {
        Profile([.discard(Discard(closeAfter: closeAfter))], on: .downstream)
    }

    @Test func `the end of a discard ends connections that have lost nothing only where the rules say so`() async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        for (endings, isEnded) in [(EndingRules(), false), (EndingRules(endsWithDiscard: true), true)] {
            try await withProxy(to: server.address, endings: endings) { fixture in
                let client = try await fixture.answeredClients(1)[0]
                try await fixture.proxy.apply(discard())
                // Another value of the fault isn't its end.
                try await fixture.proxy.apply(discard(.seconds(3_600)))
                #expect(fixture.journal.rest.isEmpty)
                try await fixture.proxy.apply(Profile([]))
                if isEnded {
                    let outcome = try await blocking { client.receiveAll() }
                    #expect(outcome.ending == .finish)
                    #expect(fixture.journal.rest.map(\.effect) == [.cuts(.close)])
                } else {
                    let answer = try await blocking {
                        try client.send([7])
                        return try client.receive(1)
                    }
                    #expect(answer == [7])
                }
                client.close()
            }
        }
    }
}
