import EventLoop
import FaultPlan
import FaultProfile
import Glibc
import ProxyEngine
import TestSockets
import Testing
import Units

/// Faults that are about time. What can't be early is held to strictly; late is whatever the machine is.
struct TimeTests {
    private static let generous = Duration.seconds(30)

    @Test func `latency delays every byte by no less than it says, in each direction`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let latency = FaultKind.latency(Latency(delay: .milliseconds(20)))
        try await withProxy(to: server.address, Profile([latency])) { fixture in
            let client = try fixture.client()
            let times = try await blocking {
                try (0..<5).map { number in
                    try duration {
                        try client.send([UInt8(number)])
                        #expect(try client.receive(1) == [UInt8(number)])
                    }
                }
            }
            #expect(times.allSatisfy { $0 >= .milliseconds(40) && $0 < TimeTests.generous })
        }
    }

    @Test func `latency counts from when bytes came, however late the loop takes them`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let latency = FaultKind.latency(Latency(delay: .milliseconds(90)))
        try await withProxy(to: server.address, Profile([latency], on: .upstream), threads: 1) { fixture in
            let client = try fixture.client()
            var shortest = TimeTests.generous
            // Counted from when they are taken, it would never be less than what both take together.
            for _ in 0..<20 where shortest >= .milliseconds(130) {
                let isHeld = Slot<Void>()
                _ = fixture.loops.loops[0].post {
                    isHeld.put(())
                    let end = MonotonicClock.now + .milliseconds(80)
                    while MonotonicClock.now < end {}
                }
                let time = try await blocking {
                    try isHeld.next()
                    return try duration {
                        try client.send([1])
                        #expect(try client.receive(1) == [1])
                    }
                }
                #expect(time >= .milliseconds(90))
                shortest = min(shortest, time)
            }
            #expect(shortest < .milliseconds(130))
        }
    }

    @Test func `a rate lets no more pass than it says`() async throws {
        let sent = randomBytes(30_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        let bandwidth = FaultKind.bandwidth(Bandwidth(rate: .bytesPerSecond(300_000)))
        try await withProxy(to: server.address, Profile([bandwidth], on: .downstream)) { fixture in
            let (bytes, time) = try await blocking {
                let start = MonotonicClock.now
                let bytes = try fixture.client().receiveAll().bytes
                return (bytes, MonotonicClock.now - start)
            }
            let isEqual = isSame(bytes, as: sent)
            #expect(isEqual)
            #expect(time >= .milliseconds(99))
            #expect(time < TimeTests.generous)
        }
    }

    @Test func `a shared rate holds for all connections together`() async throws {
        let sent = randomBytes(10_000)
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
            let client = try fixture.client()
            let (first, rest, end) = try await blocking {
                try (client.receive(exactly: 1_000), client.receive(exactly: 1_000), MonotonicClock.now)
            }
            #expect(first.count == 1_000)
            #expect(rest.count == 1_000)
            let entry = try #require(fixture.journal.rest.first)
            #expect(entry.offset == 1_000)
            #expect(entry.effect == .stalls)
            #expect(end - entry.moment >= .milliseconds(60))
            #expect(end - entry.moment < TimeTests.generous)
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
            let deadline = MonotonicClock.now + TimeTests.generous
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

    /// Keeps a loop from all else for 3 ms at a time, until the slot has something.
    private static func hold(_ loop: EventLoop, until end: Slot<Void>) {
        _ = loop.post {
            let pause = MonotonicClock.now + .milliseconds(3)
            while MonotonicClock.now < pause {}
            if end.rest.isEmpty { hold(loop, until: end) }
        }
    }

    // The listener is on one of the two loops, and late if that one is held.
    @Test(.serialized, arguments: [0, 1])
    func `who is reset by a refusing outage finds nobody listening`(held: Int) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let phases = [Phase("there", .milliseconds(60)), Phase("gone", .milliseconds(300), .refuse)]
        try await withProxy(to: server.address, Profile([], phases: phases, repeats: true)) { fixture in
            let end = Slot<Void>()
            TimeTests.hold(fixture.loops.loops[held], until: end)
            defer { end.put(()) }
            let found = try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await blocking {
                            var found: [Int32] = []
                            let deadline = MonotonicClock.now + .seconds(20)
                            while found.count < 2, MonotonicClock.now < deadline {
                                guard case .success(let client) = TestSocket.connected(to: fixture.proxy.address),
                                    (try? client.send([1])) != nil, (try? client.receive(1)) == [1],
                                    client.receiveAll().ending == .reset
                                else { continue }
                                let began = MonotonicClock.now
                                let again = TestSocket.connected(to: fixture.proxy.address)
                                // On a busy machine the outage may be over by now.
                                if MonotonicClock.now - began > .milliseconds(50) { continue }
                                if case .failure(let error) = again {
                                    found.append(error.code)
                                } else {
                                    found.append(0)
                                }
                            }
                            return found
                        }
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(!found.isEmpty)
            #expect(found.allSatisfy { $0 == ECONNREFUSED })
        }
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
        let rate = FaultKind.bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: 8_000_000)))
        try await withProxy(to: server.address, Profile([rate], on: .downstream), threads: 1) { fixture in
            var shortest = TimeTests.generous
            // Without making up for it, 190,000 bytes would never take less than 190 ms.
            for _ in 0..<20 where shortest >= .milliseconds(100) {
                let client = try fixture.client()
                let time = try await blocking {
                    _ = try client.receive(exactly: 1_000)
                    let isHeld = Slot<Void>()
                    fixture.loops.loops[0].post {
                        let end = MonotonicClock.now + .milliseconds(200)
                        while MonotonicClock.now < end {}
                        isHeld.put(())
                    }
                    try isHeld.next()
                    let time = try duration { _ = try client.receive(exactly: 190_000) }
                    #expect(client.receiveAll().bytes.count == 400_000 - 191_000)
                    return time
                }
                shortest = min(shortest, time)
            }
            #expect(shortest < .milliseconds(100))
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.lateTimes >= 1 && statistics.longestLateness >= .milliseconds(150))
            #expect(statistics.lostBytes == 0)
            let told = fixture.events.rest.compactMap { event -> Duration? in
                if case .late(let lateness) = event { lateness } else { nil }
            }
            #expect(told.contains { $0 >= .milliseconds(150) })
        }
    }
}
