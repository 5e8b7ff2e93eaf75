import EventLoop
import FaultPlan
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

struct CutTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let offset: Int
        let how: Cut.Ending
        let readSize: Int
        let isUpstream: Bool

        var ending: StreamEnding { how == .close ? .finish : .reset }
        var testDescription: String { "\(how) at \(offset), \(isUpstream ? "up" : "down"), reads of \(readSize)" }
    }

    static let cases: [Case] = {
        var generator = SeededGenerator(seed: 11)
        var offsets = [0, 1, 1_447, 1_448, 1_449, 65_536, 1 << 20, (1 << 20) + 1]
        for limit in [100, 100_000, 2_900_000] { offsets.append(Int.random(in: 2...limit, using: &generator)) }
        return offsets.flatMap { offset in
            [(Cut.Ending.close, true), (.close, false), (.reset, true), (.reset, false)].map { how, isUpstream in
                let readSize = [1, 7, 1_000, 65_536, 1 << 20].randomElement(using: &generator) ?? 1
                return Case(offset: offset, how: how, readSize: max(readSize, offset / 5_000), isUpstream: isUpstream)
            }
        }
    }()

    private static let sent = testBytes(3 << 20, seed: 5)

    /// What the receiver of a cut stream gets, and the journal's entries.
    private func cut(
        _ fault: Cut,
        isUpstream: Bool,
        receive: @escaping @Sendable (TestSocket) -> (bytes: [UInt8], ending: StreamEnding)
    ) async throws -> (bytes: [UInt8], ending: StreamEnding, entries: [JournalEntry]) {
        let received = Slot<(bytes: [UInt8], ending: StreamEnding)>()
        let server = TestServer { socket in
            if isUpstream { received.put(receive(socket)) } else { socket.sendUntilBroken(CutTests.sent) }
            // The sender goes on until it is told; only then the socket goes.
            if !isUpstream { _ = socket.receiveAll() }
        }
        defer { server.stop() }
        let profile = Profile([.cut(fault)], on: isUpstream ? .upstream : .downstream)
        return try await withProxy(to: server.address, profile) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                if !isUpstream { return receive(client) }
                client.sendUntilBroken(CutTests.sent)
                return try received.next()
            }
            client.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            return (outcome.bytes, outcome.ending, fixture.journal.rest)
        }
    }

    @Test(arguments: cases) func `a cut lets exactly its bytes pass, and ends as it says`(_ sample: Case) async throws {
        let position = Cut.Position.at(ByteCount(Int64(sample.offset)))
        let outcome = try await cut(Cut(position: position, how: sample.how), isUpstream: sample.isUpstream) {
            $0.receiveAll(sample.readSize)
        }
        #expect(outcome.bytes.count == sample.offset)
        #expect(outcome.bytes.elementsEqual(CutTests.sent.prefix(sample.offset)))
        #expect(outcome.ending == sample.ending)
        #expect(outcome.entries.map(\.offset) == [Int64(sample.offset)])
        #expect(outcome.entries.map(\.effect) == [.cuts(sample.how)])
        #expect(outcome.entries.map(\.direction) == [sample.isUpstream ? .upstream : .downstream])
        #expect(outcome.entries.map(\.connection) == [1])
    }

    @Test func `a cut in front of the first byte acts before a byte goes the other way`() async throws {
        let received = Slot<[UInt8]>()
        let server = TestServer { received.put($0.receiveAll().bytes) }
        defer { server.stop() }
        let fault = FaultKind.cut(Cut(position: .at(.zero), how: .close))
        try await withProxy(to: server.address, Profile([fault], on: .downstream)) { fixture in
            for _ in 0..<20 {
                let client = try fixture.client()
                client.sendUntilBroken([1, 2, 3])
                let bytes = try await blocking { try received.next() }
                #expect(bytes.isEmpty)
                client.close()
            }
        }
    }

    @Test(arguments: [Cut.Ending.close, .reset], [true, false])
    func `a receiver that is slow to begin gets everything before the cut`(how: Cut.Ending, isUpstream: Bool)
        async throws
    {
        let fault = Cut(position: .at(.mebibytes(1)), how: how)
        let outcome = try await cut(fault, isUpstream: isUpstream) { socket in
            // Small next to the cut, and large next to a segment of the loopback interface.
            socket.setReceiveBuffer(256 << 10)
            _ = socket.waitUntilReadable()
            return socket.receiveAll(3_000)
        }
        #expect(outcome.bytes.elementsEqual(CutTests.sent.prefix(1 << 20)))
        #expect(outcome.ending == (how == .close ? .finish : .reset))
    }

    @Test func `offsets in turn cut one connection after another, and then none`() async throws {
        let server = TestServer { socket in socket.sendUntilBroken(Array(repeating: 1, count: 5_000)) }
        defer { server.stop() }
        let fault = Cut(position: .inTurn([ByteCount(10), ByteCount(2_000)]), how: .reset)
        try await withProxy(to: server.address, Profile([.cut(fault)], on: .downstream)) { fixture in
            let counts = try await blocking {
                try (0..<4).map { _ in try fixture.client().receiveAll().bytes.count }
            }
            #expect(counts == [10, 2_000, 5_000, 5_000])
        }
    }

    @Test func `a profile that fails the first two connections lets the third through`() async throws {
        let server = TestServer { socket in socket.sendUntilBroken(Array(repeating: 1, count: 200_000)) }
        defer { server.stop() }
        let fault = Fault(
            name: "first-two",
            stream: .downstream,
            condition: Condition(connections: .range(1...2)),
            kind: .cut(Cut(position: .at(.kibibytes(64)), how: .reset))
        )
        try await withProxy(to: server.address, Profile(name: "heals", faults: [fault])) { fixture in
            let outcomes = try await blocking {
                try (0..<3).map { _ in try fixture.client().receiveAll() }
            }
            #expect(outcomes.map(\.bytes.count) == [65_536, 65_536, 200_000])
            #expect(outcomes.map(\.ending) == [.reset, .reset, .finish])
            #expect(fixture.journal.rest.map(\.connection) == [1, 2])
        }
    }

    @Test func `the journal tells the same offsets however the bytes were read and sent`() async throws {
        var journals: [[JournalEntry]] = []
        for size in [1 << 20, 1_000, 37] {
            let server = TestServer { socket in
                socket.sendUntilBroken(Array(repeating: 7, count: 40_000), writeSize: size)
            }
            defer { server.stop() }
            let kinds: [FaultKind] = [
                .cut(Cut(position: .between(ByteCount(1_000), ByteCount(30_000)), how: .close)),
                .stall(Stall(at: ByteCount(500), duration: .milliseconds(2))),
            ]
            let entries = try await withProxy(to: server.address, Profile(kinds, on: .downstream)) { fixture in
                _ = try await blocking {
                    try (0..<4).map { _ in try fixture.client().receiveAll(size).bytes.count }
                }
                return fixture.journal.rest
            }
            journals.append(
                entries.map { entry in
                    var timeless = entry
                    timeless.moment = .zero
                    return timeless
                }
            )
        }
        #expect(journals[0].count == 8)
        #expect(Set(journals[0].compactMap(\.offset)).count == 5)
        #expect(journals[1] == journals[0])
        #expect(journals[2] == journals[0])
    }
}
