import EventLoop
import FaultPlan
import Glibc
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

struct ForwardingTests {
    @Test func `ten mebibytes come back byte for byte`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let sent = testBytes(10 << 20)
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            async let sending: Void = blocking {
                try client.send(sent)
                client.endWriting()
            }
            let (bytes, ending) = try await blocking { client.receiveAll() }
            try await sending
            let isEqual = isSame(bytes, as: sent)
            #expect(isEqual)
            #expect(ending == .finish)
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.upstreamBytes == 10 << 20)
            #expect(statistics.downstreamBytes == 10 << 20)
            #expect(statistics.accepted == 1)
        }
    }

    @Test func `more stuck downloads than there are pipes arrive whole, also beside those given up`() async throws {
        let size = 8 << 20
        let sent = testBytes(size)
        let server = TestServer { socket in
            try socket.send(sent)
            socket.endWriting()
            _ = socket.receiveAll()
        }
        defer { server.stop() }
        try await withProxy(to: server.address, threads: 1) { fixture in
            let clients = try (0..<24).map { _ in try fixture.client() }
            // They begin to read when a good deal is on its way for everyone.
            let deadline = MonotonicClock.now + .seconds(30)
            while await fixture.proxy.statistics().downstreamBytes < 24 << 20 {
                try #require(MonotonicClock.now < deadline)
            }
            for client in clients.prefix(4) { client.close() }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for client in clients.dropFirst(4) {
                    group.addTask {
                        try await blocking {
                            let (bytes, ending) = client.receiveAll()
                            client.close()
                            return isSame(bytes, as: sent) && ending == .finish
                        }
                    }
                }
                for try await isWhole in group { #expect(isWhole) }
            }
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test func `bytes in bulk stay in order where some of them wait in memory`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let sent = testBytes(24 << 20)
        let faults: [FaultKind] = [
            .latency(Latency(delay: .milliseconds(3))),
            .bandwidth(Bandwidth(rate: .bytesPerSecond(400_000_000))),
        ]
        try await withProxy(to: server.address, Profile(faults)) { fixture in
            let client = try fixture.client()
            async let sending: Void = blocking {
                try client.send(sent)
                client.endWriting()
            }
            let (bytes, ending) = try await blocking { client.receiveAll(1 << 20) }
            try await sending
            let isEqual = isSame(bytes, as: sent)
            #expect(isEqual)
            #expect(ending == .finish)
        }
    }

    @Test func `each side can end its stream and go on receiving`() async throws {
        let server = TestServer { socket in
            let (bytes, ending) = socket.receiveAll()
            try socket.send(bytes.reversed())
            if ending != .finish { socket.resetAtClose() }
        }
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            let (bytes, ending) = try await blocking {
                try client.send([1, 2, 3])
                client.endWriting()
                return client.receiveAll()
            }
            #expect(bytes == [3, 2, 1])
            #expect(ending == .finish)
        }
        let received = Slot<[UInt8]>()
        let speaker = TestServer { socket in
            try socket.send([9])
            socket.endWriting()
            received.put(socket.receiveAll().bytes)
        }
        defer { speaker.stop() }
        try await withProxy(to: speaker.address) { fixture in
            let client = try fixture.client()
            let bytes = try await blocking {
                let first = client.receiveAll().bytes
                try client.send([4, 5])
                client.endWriting()
                return try (first, received.next())
            }
            #expect(bytes == ([9], [4, 5]))
        }
    }

    @Test(arguments: [false, true]) func `a client's reset reaches the server`(afterItsEnd: Bool) async throws {
        let received = Slot<(bytes: [UInt8], ending: StreamEnding)>()
        let server = TestServer { socket in
            let first = try socket.receive(exactly: 3)
            if afterItsEnd {
                #expect(try socket.receive(1).isEmpty)
                received.put((first, .finish))
            }
            // After the end only a look at the connection tells; sending would provoke a reset of its own.
            received.put(afterItsEnd ? (first, socket.waitUntilBroken()) : (first, socket.receiveAll().ending))
        }
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send([1, 2, 3])
                if afterItsEnd {
                    client.endWriting()
                    _ = try received.next()
                }
                client.resetAtClose()
                client.close()
                return try received.next()
            }
            #expect(outcome.bytes == [1, 2, 3])
            #expect(outcome.ending == .reset)
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test(arguments: [false, true]) func `a server's reset reaches the client`(afterItsEnd: Bool) async throws {
        let isReady = Slot<Bool>()
        let server = TestServer { socket in
            try socket.send([1, 2, 3])
            if afterItsEnd { socket.endWriting() }
            _ = try isReady.next()
            socket.resetAtClose()
        }
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            let ending = try await blocking { () throws -> StreamEnding in
                #expect(try client.receive(exactly: 3) == [1, 2, 3])
                if afterItsEnd { #expect(try client.receive(1).isEmpty) }
                isReady.put(true)
                return afterItsEnd ? client.waitUntilBroken() : client.receiveAll().ending
            }
            #expect(ending == .reset)
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test func `a refused upstream resets the client and is told`() async throws {
        let (nobody, gone) = TestSocket.refusing()
        defer { nobody.close() }
        try await withProxy(to: gone) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking { client.receiveAll() }
            #expect(outcome.bytes.isEmpty)
            #expect(outcome.ending == .reset)
            let event = try await blocking { try fixture.events.next() }
            let endpoint = Endpoint(host: gone.host, port: gone.port)
            #expect(event == .upstreamUnreachable(endpoint, SystemError(call: "connect", code: ECONNREFUSED)))
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test(arguments: [1, 1_000, 1 << 20])
    func `bytes are flipped and dropped at their offsets, and the others are left alone`(readSize: Int) async throws {
        let sent = testBytes(300_000, seed: 3)
        let server = TestServer { $0.sendUntilBroken(sent, writeSize: max(100, readSize)) }
        defer { server.stop() }
        let kinds: [FaultKind] = [
            .truncate(Truncate(at: ByteCount(100_000), bytes: ByteCount(70_000))),
            .corrupt(Corrupt(position: .at(ByteCount(99_999)))),
            .corrupt(Corrupt(position: .at(ByteCount(100_000)))),
            .latency(Latency(delay: .milliseconds(5))),
        ]
        try await withProxy(to: server.address, Profile(kinds, on: .downstream)) { fixture in
            let outcome = try await blocking { try fixture.client().receiveAll(max(7, readSize)) }
            let expected = Array(sent.prefix(100_000) + sent.dropFirst(170_000))
            try #require(outcome.bytes.count == expected.count)
            let struck = expected.indices.filter { outcome.bytes[$0] != expected[$0] }
            #expect(struck == [99_999, 100_000])
            #expect(outcome.ending == .finish)
            let offsets = fixture.journal.rest.filter { $0.effect != .delays }.map(\.offset)
            #expect(offsets == [99_999, 100_000, 100_000])
        }
    }

    @Test func `an upstream that doesn't answer is given up after the time-out`() async throws {
        // A full backlog: the system drops further attempts without a word.
        let (listener, address) = TestSocket.listening(backlog: 0)
        let fillers = (0..<2).map { _ in TestSocket.connecting(to: address) }
        try await withProxy(to: address, connectTimeout: .milliseconds(60)) { fixture in
            let client = try fixture.client()
            let start = MonotonicClock.now
            let ending = try await blocking { client.receiveAll().ending }
            #expect(ending == .reset)
            #expect(MonotonicClock.now - start >= .milliseconds(50))
            let event = try await blocking { try fixture.events.next() }
            let error = SystemError(call: "connect", code: SystemError.timedOut)
            #expect(event == .upstreamUnreachable(Endpoint(host: address.host, port: address.port), error))
        }
        withExtendedLifetime((listener, fillers)) {}
    }

    @Test func `what a client sent before the upstream was there is not lost`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let bytes = try await blocking {
                try (0..<20).map { number -> [UInt8] in
                    let client = try fixture.client()
                    try client.send([UInt8(number)])
                    client.endWriting()
                    return client.receiveAll().bytes
                }
            }
            #expect(bytes == (0..<20).map { [UInt8($0)] })
        }
    }

    @Test func `IPv6 is forwarded like IPv4`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let listen = Endpoint(host: "::1", port: 0)
        try await withProxy(to: server.address, listen: listen) { fixture in
            #expect(fixture.proxy.address.isIPv6)
            let client = try fixture.client()
            let bytes = try await blocking {
                try client.send([1, 2])
                return try client.receive(exactly: 2)
            }
            #expect(bytes == [1, 2])
        }
    }
}
