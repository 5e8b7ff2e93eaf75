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

/// Faults that are about time. What can't be early is held to strictly. What may be late on a busy machine is tried until
/// once it isn't: by then no later than where the fault would have acted twice.
struct TimeTests {
    /// The tries until one isn't late.
    private static let tries = 20

    /// The shortest of the times that `body` takes, which is tried until one is below `bound`.
    private static func shortest(below bound: Duration, _ body: () async throws -> Duration) async rethrows -> Duration
    {
        var shortest = Duration.seconds(3_600)
        for _ in 0..<tries where shortest >= bound { shortest = min(shortest, try await body()) }
        return shortest
    }

    @Test func `latency delays every byte by what it says, in each direction`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let latency = FaultKind.latency(Latency(delay: .milliseconds(20)))
        try await withProxy(to: server.address, Profile([latency])) { fixture in
            let client = try fixture.client()
            let shortest = try await TimeTests.shortest(below: .milliseconds(80)) {
                let (answer, time) = try await blocking {
                    let start = MonotonicClock.now
                    try client.send([7])
                    return (try client.receive(1), MonotonicClock.now - start)
                }
                #expect(answer == [7] && time >= .milliseconds(40))
                return time
            }
            #expect(shortest < .milliseconds(80))
        }
    }

    @Test func `latency counts from when bytes came, however late the loop takes them`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let clock = try EventLoop()
        let latency = FaultKind.latency(Latency(delay: .milliseconds(90)))
        try await withProxy(to: server.address, Profile([latency], on: .upstream), threads: 1) { fixture in
            let client = try fixture.client()
            // Counted from when they are taken, it would never be less than what both take together, 170 ms.
            let shortest = try await TimeTests.shortest(below: .milliseconds(130)) {
                let (answer, time) = try await blocking {
                    let held = try HeldLoop(fixture.loops.loops[0])
                    let start = MonotonicClock.now
                    defer { held.letGo() }
                    try client.send([1])
                    held.letGo(at: start + .milliseconds(80), by: clock)
                    try held.waitUntilFree()
                    return (try client.receive(1), MonotonicClock.now - start)
                }
                #expect(answer == [1] && time >= .milliseconds(90))
                return time
            }
            #expect(shortest < .milliseconds(130))
        }
        await clock.stop()
    }

    @Test func `a rate lets as much pass as it says`() async throws {
        let sent = testBytes(30_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let bandwidth = FaultKind.bandwidth(Bandwidth(rate: .bytesPerSecond(300_000)))
        try await withProxy(to: server.address, Profile([bandwidth], on: .downstream)) { fixture in
            let shortest = try await TimeTests.shortest(below: .milliseconds(199)) {
                let (bytes, time) = try await blocking {
                    let start = MonotonicClock.now
                    let bytes = try fixture.client().receiveAll().bytes
                    return (bytes, MonotonicClock.now - start)
                }
                let isEqual = isSame(bytes, as: sent)
                #expect(isEqual && time >= .milliseconds(99))
                return time
            }
            #expect(shortest < .milliseconds(199))
        }
    }

    @Test func `a shared rate holds for all connections together`() async throws {
        let sent = testBytes(10_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let bandwidth = FaultKind.bandwidth(Bandwidth(rate: .bytesPerSecond(400_000), scope: .proxy))
        try await withProxy(to: server.address, Profile([bandwidth], on: .downstream)) { fixture in
            let start = MonotonicClock.now
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { try await blocking { try fixture.client().receiveAll().bytes } }
                }
                for try await bytes in group {
                    let isEqual = isSame(bytes, as: sent)
                    #expect(isEqual)
                }
            }
            #expect(MonotonicClock.now - start >= .milliseconds(99))
        }
    }

    @Test func `a stall holds the next byte for as long as it says`() async throws {
        let server = TestServer { $0.sendUntilBroken(Array(repeating: 1, count: 2_000)) }
        defer { server.stop() }
        let stall = FaultKind.stall(Stall(at: ByteCount(1_000), duration: .milliseconds(60)))
        try await withProxy(to: server.address, Profile([stall], on: .downstream)) { fixture in
            let shortest = try await TimeTests.shortest(below: .milliseconds(120)) {
                let client = try fixture.client()
                let (first, rest, end, entry) = try await blocking {
                    let (first, rest) = try (client.receive(exactly: 1_000), client.receive(exactly: 1_000))
                    return (first, rest, MonotonicClock.now, try fixture.journal.next())
                }
                #expect(first.count == 1_000 && rest.count == 1_000)
                #expect(entry.offset == 1_000 && entry.effect == .stalls)
                #expect(end - entry.moment >= .milliseconds(60))
                return end - entry.moment
            }
            #expect(shortest < .milliseconds(120))
        }
    }

    @Test func `silence passes nothing, and everything once it is over`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let away = Duration.milliseconds(40)
        let phases = [Phase("away", away, .silence), Phase("back", away)]
        try await withProxy(to: server.address, Profile([], phases: phases, repeats: true)) { fixture in
            let client = try fixture.client()
            let round = (away + away).nanoseconds
            // However slow the machine, some bytes meet a silence, as the journal tells, and come only after it.
            var silences = 0
            let deadline = MonotonicClock.now + .seconds(TestSocket.patience)
            while silences < 3, MonotonicClock.now < deadline {
                let number = UInt8(silences)
                let (answer, end) = try await blocking {
                    try client.send([number])
                    return (try client.receive(1), MonotonicClock.now)
                }
                #expect(answer == [number])
                let struck = fixture.journal.rest.dropFirst(silences)
                guard let first = struck.first else { continue }
                let began = (first.moment - fixture.proxy.started).nanoseconds
                #expect(began % round < away.nanoseconds)
                #expect((end - fixture.proxy.started).nanoseconds >= began / round * round + away.nanoseconds)
                silences += struck.count
            }
            #expect(silences >= 3)
            #expect(fixture.journal.rest.allSatisfy { $0.effect == .silences })
        }
    }

    @Test func `a refusing outage refuses and resets, and is over when it is over, again and again`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let phases = [Phase("there", .milliseconds(60)), Phase("gone", .milliseconds(60), .refuse)]
        try await withProxy(to: server.address, Profile([], phases: phases, repeats: true)) { fixture in
            try await blocking {
                var refusals = 0
                var resets = 0
                let deadline = MonotonicClock.now + .seconds(9)
                while refusals < 3 || resets < 3, MonotonicClock.now < deadline {
                    switch TestSocket.connected(to: fixture.proxy.address) {
                    case .failure(let error):
                        #expect([ECONNREFUSED, ECONNRESET].contains(error.code))
                        refusals += 1
                        // Refused: nothing listens. Tried again until something does.
                        while case .failure = TestSocket.connected(to: fixture.proxy.address),
                            MonotonicClock.now < deadline
                        {}
                    case .success(let client):
                        if client.receiveAll().ending == .reset { resets += 1 }
                    }
                }
                #expect(refusals >= 3)
                #expect(resets >= 3)
            }
            let effects = Set(fixture.journal.rest.map(\.effect))
            #expect(effects == [.refuses, .resets])
        }
    }

    // The listener is on one of the two loops, and each has a connection.
    @Test(.serialized, arguments: [0, 1])
    func `a client that is reset by a refusing outage finds nobody listening`(held: Int) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        var isInTime = false
        for _ in 0..<TimeTests.tries where !isInTime {
            isInTime = try await withProxy(to: server.address) { fixture in
                let clients = try await fixture.answeredClients(2)
                let length = MonotonicClock.now - fixture.proxy.started + .milliseconds(200)
                let phases = [Phase("there", length), Phase("gone", .seconds(3_600), .refuse)]
                try await fixture.proxy.apply(Profile([], phases: phases))
                let loops = fixture.loops.loops
                let still = try await blocking { try HeldLoop(loops[held]) }
                defer { still.letGo() }
                // The other loop has its turns, until the outage has begun there, and ten more.
                let (other, begin) = (loops[1 - held], fixture.proxy.started + length)
                var turns = 0
                while turns < 10 { if try await other.run({ other.now }) > begin { turns += 1 } }
                let isReset = fixture.journal.rest.contains { $0.effect == .resets }
                // A connection waits for the listener, 100 ms at most.
                guard MonotonicClock.now < begin + .milliseconds(100) else { return false }
                let code = TestSocket.errnoOfConnecting(to: fixture.proxy.address)
                #expect(!isReset || code == ECONNREFUSED, "reset while others are let in")
                still.letGo()
                let endings = try await blocking { clients.map { $0.receiveAll().ending } }
                #expect(endings == [.reset, .reset])
                return true
            }
        }
        #expect(isInTime)
    }

    @Test func `a resetting outage accepts and resets at once, and live connections with it`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let phases = [Phase("there", .milliseconds(150)), Phase("gone", nil, .reset)]
        try await withProxy(to: server.address, Profile([], phases: phases)) { fixture in
            let (live, fresh) = try await blocking {
                let client = try fixture.client()
                let live = client.receiveAll()
                return (live, (0..<5).map { _ in (try? fixture.client())?.receiveAll().ending })
            }
            #expect(live.ending == .reset)
            #expect(live.bytes.isEmpty)
            #expect(fresh.allSatisfy { $0 == .reset })
            #expect(MonotonicClock.now - fixture.proxy.started >= .milliseconds(150))
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            #expect(fixture.journal.rest.filter { $0.effect == .resets }.count == 6)
        }
    }

    @Test(arguments: [(Cut.Ending.close, StreamEnding.finish), (.reset, .reset)])
    func `a cut by age ends a busy connection`(how: Cut.Ending, ending: StreamEnding) async throws {
        let server = TestServer { socket in
            while (try? socket.send([1])) != nil {}
        }
        defer { server.stop() }
        let cut = FaultKind.cut(Cut(position: .after(.milliseconds(50)), how: how))
        try await withProxy(to: server.address, Profile([cut])) { fixture in
            let start = MonotonicClock.now
            let outcome = try await blocking { try fixture.client().receiveAll() }
            #expect(outcome.ending == ending)
            #expect(MonotonicClock.now - start >= .milliseconds(50))
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            #expect(fixture.journal.rest.map(\.effect) == [.cuts(how)])
            #expect(fixture.journal.rest.map(\.offset) == [nil])
        }
    }

    @Test func `a cut by idleness waits for as long as bytes pass`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let cut = FaultKind.cut(Cut(position: .idle(.milliseconds(80)), how: .reset))
        try await withProxy(to: server.address, Profile([cut])) { fixture in
            let (last, end) = try await blocking { () -> (Moment, Moment) in
                let client = try fixture.client()
                let start = MonotonicClock.now
                var last = start
                while MonotonicClock.now - start < .milliseconds(200) {
                    let now = MonotonicClock.now
                    // On a busy machine a round may take long enough to be idle.
                    guard (try? client.send([1])) != nil, (try? client.receive(1)) != nil else { break }
                    last = now
                }
                _ = client.receiveAll()
                return (last, MonotonicClock.now)
            }
            #expect(fixture.journal.rest.map(\.effect) == [.cuts(.reset)])
            #expect(end - last >= .milliseconds(80))
        }
    }

    @Test func `a cut by idleness waits for as long as bytes come that another fault discards`() async throws {
        let server = TestServer { _ = $0.receiveAll() }
        defer { server.stop() }
        let cut = Fault(name: "idle", kind: .cut(Cut(position: .idle(.milliseconds(100)), how: .reset)))
        let discard = Fault(name: "lost", stream: .upstream, kind: .discard(Discard()))
        try await withProxy(to: server.address, Profile(name: "test", faults: [cut, discard])) { fixture in
            let client = try fixture.client()
            let start = MonotonicClock.now
            var (last, count) = (start, Int64(0))
            // On a busy machine a round may take long enough to be idle.
            while MonotonicClock.now - start < .milliseconds(300) {
                let now = MonotonicClock.now
                guard (try? client.send([1])) != nil else { break }
                let sent = count
                guard await fixture.becomes({ $0.upstreamReceived > sent || $0.accepted == 1 && $0.open == 0 }),
                    await fixture.proxy.statistics().upstreamReceived > sent
                else { break }
                (last, count) = (now, count + 1)
            }
            _ = try await blocking { client.receiveAll() }
            #expect(MonotonicClock.now - last >= .milliseconds(100))
            #expect(fixture.journal.rest.last?.effect == .cuts(.reset))
            client.close()
        }
    }

    @Test func `a delayed end comes after the bytes, and as late`() async throws {
        let server = TestServer { try $0.send([1, 2, 3]) }
        defer { server.stop() }
        let latency = FaultKind.latency(Latency(delay: .milliseconds(40), jitter: .milliseconds(10)))
        try await withProxy(to: server.address, Profile([latency], on: .downstream)) { fixture in
            let start = MonotonicClock.now
            let (bytes, ending) = try await blocking { try fixture.client().receiveAll() }
            #expect(bytes == [1, 2, 3])
            #expect(ending == .finish)
            #expect(MonotonicClock.now - start >= .milliseconds(30))
        }
    }

    @Test func `a loop that was held up says how late it was, and a rate makes up for it`() async throws {
        let server = TestServer { try $0.send([UInt8](repeating: 7, count: 400_000)) }
        defer { server.stop() }
        let clock = try EventLoop()
        let rate = FaultKind.bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: 8_000_000)))
        try await withProxy(to: server.address, Profile([rate], on: .downstream), threads: 1) { fixture in
            // Without making up for it, 190,000 bytes would never take less than 190 ms.
            let shortest = try await TimeTests.shortest(below: .milliseconds(100)) {
                let client = try fixture.client()
                let (count, time) = try await blocking {
                    _ = try client.receive(exactly: 1_000)
                    let held = try HeldLoop(fixture.loops.loops[0])
                    defer { held.letGo() }
                    held.letGo(at: MonotonicClock.now + .milliseconds(200), by: clock)
                    try held.waitUntilFree()
                    let time = try duration { _ = try client.receive(exactly: 190_000) }
                    return (client.receiveAll().bytes.count, time)
                }
                #expect(count == 400_000 - 191_000)
                // On a busy machine everything may have passed before the loop was held.
                let isTold = fixture.events.rest.contains { event in
                    if case .late(let lateness) = event { lateness >= .milliseconds(150) } else { false }
                }
                return isTold ? time : .seconds(1)
            }
            #expect(shortest < .milliseconds(100))
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.lateTimes >= 1 && statistics.longestLateness >= .milliseconds(150))
            #expect(statistics.lostBytes == 0)
        }
        await clock.stop()
    }
}
