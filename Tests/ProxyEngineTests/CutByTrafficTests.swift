import FaultPlan
import FaultProfile
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

/// Cuts that count from where they began, on connections that live.
@Suite(.timeLimit(.minutes(5))) struct CutByTrafficTests {
    private func limit(_ bytes: Int64) -> Profile {
        Profile([.cut(Cut(position: .limit(ByteCount(bytes)), how: .close))], on: .downstream)
    }

    private func traffic(_ time: Duration, on stream: StreamSelection) -> Profile {
        Profile([.cut(Cut(position: .traffic(time), how: .reset))], on: stream)
    }

    @Test func `a limit counts from where it was added, and an update doesn't begin anew`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let sent = testBytes(10_000)
        try await withProxy(to: server.address) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            try await fixture.proxy.apply(limit(9_000))
            let first = try await blocking {
                try client.send(Array(sent[..<3_000]))
                return try client.receive(exactly: 3_000)
            }
            try await fixture.proxy.apply(limit(5_000))
            let rest = try await blocking {
                client.sendUntilBroken(Array(sent[3_000...]))
                return client.receiveAll()
            }
            #expect(first + rest.bytes == Array(sent.prefix(5_000)))
            let entry = try await blocking { try fixture.journal.next() }
            #expect(entry.offset == 5_001 && entry.effect == .cuts(.close))
            client.close()
        }
    }

    @Test func `a limit that an update puts below the count closes an idle connection at once`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            try await fixture.proxy.apply(limit(100))
            try await blocking {
                try client.send([1, 2, 3])
                _ = try client.receive(exactly: 3)
            }
            try await fixture.proxy.apply(limit(3))
            let end = try await blocking { client.receiveAll() }
            #expect(end.bytes.isEmpty && end.ending == .finish)
            client.close()
        }
    }

    @Test func `a limit of zero passes nothing of what comes next`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            try await fixture.proxy.apply(limit(0))
            #expect(client.isQuiet)
            let end = try await blocking {
                try client.send([2])
                return client.receiveAll()
            }
            #expect(end.bytes.isEmpty && end.ending == .finish)
            client.close()
        }
    }

    @Test(arguments: [StreamSelection.upstream, .downstream], [Duration.zero, .milliseconds(50)])
    func `traffic resets both ends of a live connection, and an idle one is left alone`(
        stream: StreamSelection,
        time: Duration
    ) async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let (client, served) = try await pair(fixture, sockets)
            let (idleClient, idleServed) = try await pair(fixture, sockets)
            try await fixture.proxy.apply(traffic(time, on: stream))
            let (sender, receiver) = stream == .upstream ? (client, served) : (served, client)
            let start = MonotonicClock.now
            let ends = try await blocking {
                try sender.send([7])
                return (receiver.receiveAll(), sender.receiveAll(), MonotonicClock.now - start)
            }
            #expect(ends.0.bytes.isEmpty && ends.0.ending == .reset)
            #expect(ends.1.ending == .reset)
            #expect(ends.2 >= time)
            let entry = try await blocking { try fixture.journal.next() }
            #expect(entry.effect == .cuts(.reset) && entry.offset == nil)
            #expect(idleClient.isQuiet && idleServed.isQuiet)
            // The other direction of the idle one isn't the fault's.
            let (from, to) = stream == .upstream ? (idleServed, idleClient) : (idleClient, idleServed)
            try from.send([8])
            #expect(try await blocking { try to.receive(exactly: 1) } == [8])
            for socket in [client, served, idleClient, idleServed] { socket.close() }
        }
    }

    @Test func `traffic counts the end of a stream as well`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address, traffic(.milliseconds(20), on: .upstream)) { fixture in
            let client = try fixture.client()
            let ends = try await blocking {
                let served = try sockets.next()
                client.endWriting()
                return (served.receiveAll().ending, client.receiveAll().ending)
            }
            #expect(ends == (.reset, .reset))
            client.close()
        }
    }

    /// Both ends of a connection that has passed a byte each way.
    private func pair(_ fixture: Fixture, _ sockets: Slot<TestSocket>) async throws -> (TestSocket, TestSocket) {
        try await blocking {
            let client = try fixture.client()
            let served = try sockets.next()
            try client.send([1])
            _ = try served.receive(exactly: 1)
            try served.send([1])
            _ = try client.receive(exactly: 1)
            return (client, served)
        }
    }
}
