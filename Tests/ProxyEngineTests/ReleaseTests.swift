import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

/// What a fault held passes as soon as the fault is gone.
@Suite(.timeLimit(.minutes(5))) struct ReleaseTests {
    @Test func `a silence of one direction holds its bytes and its end, and the other direction goes on`() async throws
    {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let sent = testBytes(100_000)
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            let served = try await blocking { try sockets.next() }
            try await fixture.proxy.apply(Profile([.outage(Outage(how: .silence))], on: .downstream))
            try await blocking {
                try served.send(sent)
                served.endWriting()
                _ = try fixture.journal.next()
                try client.send([1, 2])
                #expect(try served.receive(exactly: 2) == [1, 2])
            }
            #expect(client.isQuiet)
            #expect(await fixture.proxy.statistics().open == 1)
            try await fixture.proxy.apply(Profile([]))
            let end = try await blocking { client.receiveAll() }
            #expect(isSame(end.bytes, as: sent) && end.ending == .finish)
            client.close()
            served.close()
        }
    }

    @Test(arguments: [
        FaultKind.latency(Latency(delay: .seconds(3_000))), .bandwidth(Bandwidth(rate: .bytesPerSecond(1))),
    ])
    func `a delay or a rate that is removed lets go what it held, and the end`(kind: FaultKind) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let sent = testBytes(50_000)
        try await withProxy(to: server.address) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            try await fixture.proxy.apply(Profile([kind], on: .downstream))
            try client.send(sent)
            client.endWriting()
            _ = try await blocking { try fixture.journal.next() }
            try await fixture.proxy.apply(Profile([]))
            let end = try await blocking { client.receiveAll() }
            #expect(isSame(end.bytes, as: sent) && end.ending == .finish)
            client.close()
        }
    }
}
