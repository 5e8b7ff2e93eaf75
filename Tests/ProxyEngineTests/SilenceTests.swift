import FaultPlan
import Foundation
import Glibc
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Ends of which nobody is told, or late.
struct SilenceTests {
    private static let sent = testBytes(300_000, seed: 3)

    @Test(arguments: [0, 1, 65_536, 250_000], [true, false])
    func `a cut by silence lets exactly its bytes pass, and neither end is told`(offset: Int, isUpstream: Bool)
        async throws
    {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let cut = FaultKind.cut(Cut(position: .at(ByteCount(Int64(offset))), how: .silence))
        try await withProxy(to: server.address, Profile([cut], on: isUpstream ? .upstream : .downstream)) { fixture in
            let client = try fixture.client()
            let (received, entry, served) = try await blocking {
                let served = try sockets.next()
                let (source, sink) = isUpstream ? (client, served) : (served, client)
                Thread.detachNewThread { source.sendUntilBroken(SilenceTests.sent) }
                return (try sink.receive(exactly: offset), try fixture.journal.next(), served)
            }
            let isEqual = received.elementsEqual(SilenceTests.sent.prefix(offset))
            #expect(isEqual)
            #expect(entry.effect == .cuts(.silence) && entry.offset == Int64(offset))
            // The other direction is silent as well.
            try (isUpstream ? served : client).send([1])
            let openFirst = await fixture.proxy.statistics().open
            #expect(openFirst == 1)
            #expect(client.isQuiet && served.isQuiet)
            // One end gives up: the other isn't told.
            client.resetAtClose()
            client.close()
            let openSecond = await fixture.proxy.statistics().open
            #expect(openSecond == 1)
            #expect(served.isQuiet)
            served.resetAtClose()
            served.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test(arguments: [Cut.Position.after(.milliseconds(500)), .idle(.milliseconds(500))])
    func `a cut by time can be silent too, and the connection goes when both ends have`(position: Cut.Position)
        async throws
    {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let cut = FaultKind.cut(Cut(position: position, how: .silence))
        try await withProxy(to: server.address, Profile([cut])) { fixture in
            let client = try fixture.client()
            let (served, entry) = try await blocking { (try sockets.next(), try fixture.journal.next()) }
            #expect(entry.effect == .cuts(.silence) && entry.offset == nil)
            try client.send([1])
            try served.send([1])
            let openThird = await fixture.proxy.statistics().open
            #expect(openThird == 1)
            #expect(client.isQuiet && served.isQuiet)
            client.close()
            served.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test func `a proxy that stops lets go of silent connections`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let cut = FaultKind.cut(Cut(position: .at(.zero), how: .silence))
        try await withProxy(to: server.address, Profile([cut], on: .upstream)) { fixture in
            let client = try fixture.client()
            let served = try await blocking {
                _ = try fixture.journal.next()
                return try sockets.next()
            }
            await fixture.proxy.stop()
            let endings = try await blocking { [client.receiveAll().ending, served.receiveAll().ending] }
            #expect(endings == [.finish, .finish])
        }
    }

    @Test func `a half-open connection is silent in one direction and not in the other`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let halfOpen = FaultKind.halfOpen(HalfOpen(point: .at(ByteCount(1_000))))
        try await withProxy(to: server.address, Profile([halfOpen], on: .downstream)) { fixture in
            let client = try fixture.client()
            let (received, request, served) = try await blocking {
                let served = try sockets.next()
                try served.send(Array(repeating: 1, count: 2_000))
                served.endWriting()
                let received = try client.receive(exactly: 1_000)
                _ = try fixture.journal.next()
                try client.send([7, 8])
                return (received, try served.receive(exactly: 2), served)
            }
            #expect(received.count == 1_000)
            #expect(request == [7, 8])
            #expect(client.isQuiet)
            client.endWriting()
            let (rest, ending) = try await blocking { served.receiveAll() }
            #expect(rest.isEmpty && ending == .finish)
            // Both have ended their streams: there is nobody left to keep it for.
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test(arguments: [false, true])
    func `the direction that works delivers everything, though both ends have ended their streams`(isDelayed: Bool)
        async throws
    {
        let sent = testBytes(4 << 20, seed: 5)
        let server = TestServer { socket in
            _ = try socket.receive(exactly: 100)
            try socket.send(sent)
        }
        defer { server.stop() }
        let halfOpen = HalfOpen(point: .at(ByteCount(100)))
        var faults = [Fault(name: "half-open", stream: .upstream, kind: .halfOpen(halfOpen))]
        if isDelayed {
            let latency = Latency(delay: .milliseconds(40))
            faults.append(Fault(name: "latency", stream: .downstream, kind: .latency(latency)))
        }
        var limits = DrainLimits()
        limits.lookInterval = .milliseconds(10)
        try await withProxy(to: server.address, Profile(name: "test", faults: faults), drainLimits: limits) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send([UInt8](repeating: 1, count: 300))
                client.endWriting()
                return client.receiveAll(isDelayed ? 1 << 16 : 1_024)
            }
            #expect(isSame(outcome.bytes, as: sent) && outcome.ending == .finish)
            client.close()
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `a reset isn't told in the direction that is silent`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let halfOpen = FaultKind.halfOpen(HalfOpen(point: .after(.nanoseconds(1))))
        try await withProxy(to: server.address, Profile([halfOpen], on: .downstream)) { fixture in
            let client = try fixture.client()
            try await blocking {
                let served = try sockets.next()
                try served.send([1])
                _ = try fixture.journal.next()
                served.resetAtClose()
                served.close()
            }
            // What the client sends finds nobody any more; it isn't told of that either.
            for _ in 0..<3 { try client.send([2]) }
            let openFourth = await fixture.proxy.statistics().open
            #expect(openFourth == 1)
            #expect(client.isQuiet)
            client.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test func `a fault that begins while the receiver takes nothing is journalled then`() async throws {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        let rate = Fault(
            name: "rate",
            stream: .upstream,
            condition: Condition(ageFrom: .seconds(1)),
            kind: .bandwidth(Bandwidth(rate: .bytesPerSecond(1_000_000)))
        )
        try await withProxy(to: server.address, Profile(name: "test", faults: [rate])) { fixture in
            let client = try fixture.client()
            // More than the sockets' buffers hold, to a server that doesn't receive.
            Thread.detachNewThread { try? client.send([UInt8](repeating: 1, count: 64 << 20)) }
            let served = try await blocking { try sockets.next() }
            var (passed, looks) = (Int64(0), 0)
            let isStuck = await fixture.becomes { statistics in
                looks = statistics.upstreamBytes == passed && passed > 0 ? looks + 1 : 0
                passed = statistics.upstreamBytes
                return looks == 200
            }
            #expect(isStuck)
            // The connection has its turn again, while the receiver takes nothing.
            try served.send([2])
            let (byte, entry) = try await blocking { (try client.receive(1), try fixture.journal.next()) }
            #expect(byte == [2])
            #expect(entry.fault == "rate" && entry.effect == .limits)
            served.resetAtClose()
            served.close()
            client.interrupt()
        }
    }

    @Test func `a slow close comes as late as it says, behind the last byte`() async throws {
        let server = TestServer { try $0.send([1, 2, 3]) }
        defer { server.stop() }
        let slow = FaultKind.slowClose(SlowClose(delay: .milliseconds(80)))
        try await withProxy(to: server.address, Profile([slow], on: .downstream)) { fixture in
            let (bytes, ending, time) = try await blocking {
                let client = try fixture.client()
                let bytes = try client.receive(exactly: 3)
                let entry = try fixture.journal.next()
                #expect(entry.effect == .closesLate)
                let ending = client.receiveAll().ending
                return (bytes, ending, MonotonicClock.now - entry.moment)
            }
            #expect(bytes == [1, 2, 3])
            #expect(ending == .finish)
            #expect(time >= .milliseconds(80))
        }
    }
}
