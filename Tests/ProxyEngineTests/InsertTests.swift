import EventLoop
import FaultPlan
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile
@testable import ProxyEngine

/// Bytes that a fault puts into a stream, as they arrive at a socket.
struct InsertTests {
    private func insert(at offset: Int64, _ bytes: [UInt8]) -> FaultKind {
        .insert(Insert(position: .at(ByteCount(offset)), bytes: bytes))
    }

    @Test(arguments: [1, 1_000, 1 << 20])
    func `are there at their offsets, and no other byte is changed`(readSize: Int) async throws {
        let sent = testBytes(300_000, seed: 3)
        let server = TestServer { $0.sendUntilBroken(sent, writeSize: max(100, readSize)) }
        defer { server.stop() }
        let (first, second) = (Array("first".utf8), testBytes(Insert.largest, seed: 4))
        let kinds: [FaultKind] = [
            insert(at: 0, first), insert(at: 100_000, second),
            .truncate(Truncate(at: ByteCount(100_000), bytes: ByteCount(50_000))),
            .latency(Latency(delay: .milliseconds(5))),
        ]
        try await withProxy(to: server.address, Profile(kinds, on: .downstream)) { fixture in
            let outcome = try await blocking { try fixture.client().receiveAll(max(7, readSize)) }
            let expected = first + sent[..<99_995] + second + sent[149_995...]
            #expect(outcome.bytes == expected)
            #expect(outcome.ending == .finish)
            let struck = fixture.journal.rest.filter { $0.effect == .inserts }
            #expect(struck.map(\.offset) == [0, 100_000])
        }
    }

    @Test func `have room in one read, as many as a profile may have`() async throws {
        #expect(ProfileLimits.faults * Insert.largest <= EventLoop.insertionCapacity)
        let added = testBytes(Insert.largest, seed: 5)
        let sent = testBytes(1 << 20, seed: 6)
        let server = TestServer { $0.sendUntilBroken(sent, writeSize: 1 << 20) }
        defer { server.stop() }
        let kinds = (0..<Int64(ProfileLimits.faults)).map { insert(at: $0 * Int64(added.count + 1), added) }
        try await withProxy(to: server.address, Profile(kinds, on: .downstream)) { fixture in
            let outcome = try await blocking { try fixture.client().receiveAll(1 << 20) }
            let mixed = sent.prefix(kinds.count).flatMap { added + [$0] }
            #expect(outcome.bytes == mixed + sent.dropFirst(kinds.count))
        }
    }

    @Test func `stand behind the first pattern of a stream, before the next byte comes`() async throws {
        let (isSeen, mayEnd) = (Slot<Void>(), Slot<Void>())
        let server = TestServer { socket in
            try socket.send(Array("<html><bo".utf8))
            try socket.send(Array("dy>".utf8))
            isSeen.put(())
            try mayEnd.next()
            try socket.send(Array("<body></html>".utf8))
        }
        defer { server.stop() }
        let pattern = BytePattern(Array("<body>".utf8))
        let kind = FaultKind.insert(Insert(position: .pattern(pattern), bytes: Array("<ad>".utf8)))
        try await withProxy(to: server.address, Profile([kind], on: .downstream)) { fixture in
            let client = try fixture.client()
            let begin = try await blocking {
                try isSeen.next()
                return try client.receive(exactly: 16)
            }
            #expect(String(decoding: begin, as: UTF8.self) == "<html><body><ad>")
            mayEnd.put(())
            let rest = try await blocking { client.receiveAll().bytes }
            #expect(String(decoding: rest, as: UTF8.self) == "<body></html>")
        }
    }
}
