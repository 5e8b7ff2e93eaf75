import FaultPlan
import FaultProfile
import Foundation
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@Suite(.timeLimit(.minutes(5))) struct DiscardTests {
    private static let none = Profile([])

    private func discard(_ closeAfter: Duration? = nil, on stream: StreamSelection = .downstream) -> Profile {
        Profile([.discard(Discard(closeAfter: closeAfter))], on: stream)
    }

    @Test func `a sender never waits, and its connection ends with the fault`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            let spared = try fixture.client()
            let pairs = try await blocking { [try sockets.next(), try sockets.next()] }
            // Which server is whose depends on the loops.
            try client.send([1])
            try spared.send([2])
            let (served, sparing) = try await blocking {
                try pairs[0].receive(exactly: 1) == [1] ? (pairs[0], pairs[1]) : (pairs[1], pairs[0])
            }
            if sparing === pairs[1] { _ = try await blocking { try sparing.receive(exactly: 1) } }
            if served === pairs[1] { _ = try await blocking { try served.receive(exactly: 1) } }
            try await fixture.proxy.apply(discard())
            try await blocking {
                // More than all buffers hold.
                try served.send(testBytes(32 << 20))
                try client.send([3])
                #expect(try served.receive(exactly: 1) == [3], "the other direction is another matter")
            }
            // A server's socket that closes with unread bytes sends a reset.
            #expect(await fixture.becomes { $0.downstreamReceived == 32 << 20 })
            #expect(client.isQuiet)
            try await fixture.proxy.apply(DiscardTests.none)
            let ends = try await blocking { (client.receiveAll(), served.receiveAll()) }
            #expect(ends.0.bytes.isEmpty && ends.0.ending == .finish)
            #expect(ends.1.bytes.isEmpty && ends.1.ending == .finish)
            try await blocking {
                try sparing.send([4])
                #expect(try spared.receive(exactly: 1) == [4], "this one has lost nothing")
            }
            #expect(fixture.journal.rest.map(\.effect) == [.discards, .cuts(.close)])
            #expect(fixture.journal.rest.allSatisfy { $0.direction == .downstream && $0.offset == nil })
            for socket in [client, served, spared, sparing] { socket.close() }
        }
    }

    @Test func `a sender whose receiver takes nothing goes on when the fault begins`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            let served = try await blocking { try sockets.next() }
            let sent = Slot<Bool>()
            Thread.detachNewThread {
                served.sendUntilBroken([UInt8](repeating: 1, count: 64 << 20))
                sent.put(true)
            }
            // The client takes nothing, so the bytes that have passed come to a stand.
            var (passed, looks) = (Int64(0), 0)
            #expect(
                await fixture.becomes { statistics in
                    looks = statistics.downstreamBytes == passed && passed > 0 ? looks + 1 : 0
                    passed = statistics.downstreamBytes
                    return looks == 200
                }
            )
            #expect(sent.rest.isEmpty)
            try await fixture.proxy.apply(discard(.milliseconds(300)))
            #expect(try await blocking { try sent.next() })
            // It closes although bytes wait for the client.
            let entries = try await blocking { [try fixture.journal.next(), try fixture.journal.next()] }
            #expect(entries.map(\.effect) == [.discards, .cuts(.close)])
            client.close()
            served.close()
        }
    }

    @Test(arguments: [StreamSelection.upstream, .downstream])
    func `a time without a byte closes both ends in order`(stream: StreamSelection) async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        try await withProxy(to: server.address, discard(.milliseconds(200), on: stream)) { fixture in
            let client = try fixture.client()
            let (ends, time) = try await blocking {
                let served = try sockets.next()
                let sender = stream == .upstream ? client : served
                let start = MonotonicClock.now
                try sender.send([1, 2, 3])
                let ends = [client.receiveAll(), served.receiveAll()]
                defer { served.close() }
                return (ends, MonotonicClock.now - start)
            }
            #expect(ends.allSatisfy { $0.bytes.isEmpty && $0.ending == .finish })
            #expect(time >= .milliseconds(200))
            client.close()
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `a phase that is over closes a connection that has lost bytes`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let fault = Fault(
            name: "lost",
            stream: .upstream,
            condition: Condition(ageUntil: .milliseconds(300)),
            kind: .discard(Discard())
        )
        try await withProxy(to: server.address, Profile(name: "lost", faults: [fault])) { fixture in
            let client = try fixture.client()
            let end = try await blocking {
                try client.send([1])
                return client.receiveAll()
            }
            #expect(end.bytes.isEmpty && end.ending == .finish)
            client.close()
        }
    }
}
