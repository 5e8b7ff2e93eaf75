import EventLoop
import FaultPlan
import OperatingSystem
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Shaping at real sockets: what passes is the same bytes, and never early.
struct ShapingTests {
    @Test func `a rate per client is one for each address`() async throws {
        let sent = testBytes(5_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        // Nobody lives to see more than the burst.
        let bandwidth = Bandwidth(rate: BitRate(bitsPerSecond: 1), burst: ByteCount(1_000), scope: .client)
        try await withProxy(to: server.address, Profile([.bandwidth(bandwidth)], on: .downstream)) { fixture in
            let address = fixture.proxy.address
            let parts = try await blocking {
                try ["127.0.0.2", "127.0.0.3", "127.0.0.4"].map { host in
                    let source = SocketAddress(numericHost: host, port: 0)
                    let client = try TestSocket.connected(to: address, from: source).get()
                    return try client.receive(exactly: 1_000)
                }
            }
            #expect(parts.allSatisfy { $0 == Array(sent.prefix(1_000)) })
        }
    }

    @Test func `a global rate holds for two proxies together`() async throws {
        let sent = testBytes(20_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let bandwidth = Bandwidth(rate: .bytesPerSecond(400_000), scope: .global)
        let profile = Profile([.bandwidth(bandwidth)], on: .downstream)
        let global = GlobalBuckets(profile, start: MonotonicClock.now)
        try await withProxy(to: server.address, profile, global: global) { first in
            try await withProxy(to: server.address, profile, global: global) { second in
                let start = MonotonicClock.now
                async let one = blocking { try first.client().receiveAll().bytes }
                async let other = blocking { try second.client().receiveAll().bytes }
                let parts = try await [one, other]
                #expect(parts == [sent, sent])
                #expect(MonotonicClock.now - start >= .milliseconds(99))
            }
        }
    }

    @Test func `a trace passes no more than its opportunities, and every byte`() async throws {
        let sent = testBytes(150_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let trace = Trace(file: "12mbit", opportunities: Array(1...12), queue: ByteCount(20_000))
        try await withProxy(to: server.address, Profile([.trace(trace)], on: .downstream)) { fixture in
            let (bytes, time) = try await blocking {
                let start = MonotonicClock.now
                let bytes = try fixture.client().receiveAll().bytes
                return (bytes, MonotonicClock.now - start)
            }
            #expect(bytes == sent)
            // One millisecond for each of a hundred opportunities, the first of which may be due at once.
            #expect(time >= .milliseconds(98))
            #expect(time < .seconds(8))
        }
    }

    @Test func `slices arrive whole and in order, with the pauses between them`() async throws {
        let sent = testBytes(10_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let slice = Slice(size: ByteCount(500), spread: ByteCount(100), pause: .milliseconds(4))
        let profile = Profile([.slice(slice), .latency(Latency(delay: .milliseconds(1)))], on: .downstream)
        try await withProxy(to: server.address, profile) { fixture in
            let (bytes, time) = try await blocking {
                let start = MonotonicClock.now
                let bytes = try fixture.client().receiveAll().bytes
                return (bytes, MonotonicClock.now - start)
            }
            #expect(bytes == sent)
            // 16 slices or more, of 600 bytes at most.
            #expect(time >= .milliseconds(15 * 4))
            #expect(time < .seconds(8))
        }
    }

    @Test func `a slice without a pause goes on when its receiver does`() async throws {
        let sent = testBytes(3_000_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let slice = Slice(size: ByteCount(2_000), spread: ByteCount(1_999))
        try await withProxy(to: server.address, Profile([.slice(slice)])) { fixture in
            let (bytes, ending) = try await blocking { try fixture.client().receiveAll(5_000) }
            #expect(bytes == sent)
            #expect(ending == .finish)
        }
    }
}

extension ShapingTests {
    @Test func `a slow reader takes every byte through its small window, no faster than it says`() async throws {
        let sent = testBytes(60_000)
        let server = TestServer { socket in
            socket.sendUntilBroken(sent)
            _ = socket.receiveAll()
        }
        defer { server.stop() }
        let reader = SlowReader(rate: .bytesPerSecond(400_000), window: ByteCount(8_192))
        try await withProxy(to: server.address, Profile([.slowReader(reader)])) { fixture in
            let (bytes, time) = try await blocking {
                let start = MonotonicClock.now
                let client = try fixture.client()
                let bytes = try client.receive(exactly: sent.count)
                return (bytes, MonotonicClock.now - start)
            }
            #expect(bytes == sent)
            #expect(time >= .milliseconds(149))
            #expect(time < .seconds(8))
        }
    }
}
