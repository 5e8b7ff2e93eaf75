import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

/// Packet loss on loopback: every byte arrives, and connections come late.
struct LossTests {
    @Test func `a loss holds bytes back and loses none, in either direction`() async throws {
        let sent = testBytes(600_000)
        let server = TestServer.echo()
        defer { server.stop() }
        let rate = try #require(Probability(0.02))
        let loss = FaultKind.loss(Loss(rate: rate, burst: 2, roundTrip: .milliseconds(4), sender: .bbr))
        try await withProxy(to: server.address, Profile([loss])) { fixture in
            let received = try await blocking {
                let client = try fixture.client()
                Thread.detachNewThread { client.sendUntilBroken(sent) }
                return try client.receive(exactly: sent.count)
            }
            #expect(received == sent)
            let offsets = fixture.journal.rest.filter { $0.effect == .loses }.compactMap(\.offset)
            #expect(offsets.count == 2)
            #expect(offsets.allSatisfy { $0.isMultiple(of: 1_448) })
        }
    }

    @Test func `a connection whose first packet is lost reaches the server a second late`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let rate = try #require(Probability(0.5))
        let loss = FaultKind.loss(Loss(rate: rate, roundTrip: .milliseconds(1)))
        let profile = Profile([loss])
        // The plan says which connection is the first to be late by a second, with no other before it.
        var admitter = Admitter(Plan(profile: profile, seed: 7, proxy: "test", start: .zero))
        let delays = (0..<64).map { _ in admitter.accept(at: .zero).faults.hold?.delay }
        let late = try #require(delays.firstIndex { $0?.duration == .seconds(1) })
        try await withProxy(to: server.address, profile) { fixture in
            let time = try await blocking {
                for _ in 0..<late { try fixture.client().close() }
                let client = try fixture.client()
                return try duration {
                    try client.send([1])
                    #expect(try client.receive(1) == [1])
                }
            }
            #expect(time >= .seconds(1))
            let ordinal = UInt64(late + 1)
            let entry = fixture.journal.rest.first { $0.connection == ordinal && $0.effect == .connectsLate }
            #expect(entry?.direction == nil && entry?.offset == nil)
            #expect(entry != nil)
        }
    }

    @Test func `a proxy that stops lets go of connections that are still to be made`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let rate = try #require(Probability(0.99))
        let profile = Profile([FaultKind.loss(Loss(rate: rate, roundTrip: .milliseconds(1)))])
        try await withProxy(to: server.address, profile) { fixture in
            let clients = try (0..<5).map { _ in try fixture.client() }
            // Journalled means accepted, and waiting.
            try await blocking { for _ in 0..<4 { _ = try fixture.journal.next() } }
            await fixture.proxy.stop()
            for client in clients { #expect(client.receiveAll().bytes.isEmpty) }
        }
    }
}
