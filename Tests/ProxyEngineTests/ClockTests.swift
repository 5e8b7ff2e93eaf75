import EventLoop
import FaultPlan
import FaultProfile
import ProxyEngine
import TestSockets
import Testing
import Units

/// The clock of a proxy that is stopped, restarted and set while connections live.
@Suite(.timeLimit(.minutes(5))) struct ClockTests {
    private func profile(_ how: Outage.Mode) -> Profile {
        let phases = [
            Phase("there", .seconds(3_600)), Phase("gone", .seconds(3_600), how), Phase("back", nil),
            Phase("never", nil),
        ]
        return Profile([], phases: phases)
    }

    @Test func `a step to an outage ends live connections and refuses others, and a restart lets them in`() async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile(.refuse)) { fixture in
            let clients = try await fixture.answeredClients(3)
            try await fixture.proxy.setClock(.step(phase: "gone"))
            #expect(fixture.proxy.clock.phase == "gone" && !fixture.proxy.clock.isPaused)
            #expect((.seconds(3_600)...(.seconds(7_200))).contains(fixture.proxy.clock.time))
            for client in clients {
                #expect(try await blocking { client.waitUntilBroken() } == .reset)
                client.close()
            }
            #expect(throws: Errno.self) { try fixture.client() }
            try await fixture.proxy.setClock(.restart)
            #expect(fixture.proxy.clock.phase == "there")
            for client in try await fixture.answeredClients(2) { client.close() }
        }
    }

    @Test func `a silence lasts as long as the clock is stopped in it, and no byte is lost`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile(.silence)) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            let paused = try await fixture.proxy.setClock(.pause)
            #expect(paused.plan.generation == 2)
            try await fixture.proxy.setClock(.step(phase: "gone"))
            let reading = fixture.proxy.clock
            #expect(reading == ClockReading(time: .seconds(3_600), isPaused: true, phase: "gone"))
            try client.send([1, 2, 3])
            let event = try await blocking { try fixture.journal.next() }
            #expect(event.effect == .silences)
            #expect(fixture.proxy.clock == reading)
            try await fixture.proxy.setClock(.step(phase: "back"))
            #expect(try await blocking { try client.receive(exactly: 3) } == [1, 2, 3])
            try await fixture.proxy.setClock(.resume)
            #expect(!fixture.proxy.clock.isPaused)
            client.close()
        }
    }

    @Test func `a change waits for its turn however many jobs a loop has`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile(.refuse), threads: 1) { fixture in
            let (proxy, loop) = (fixture.proxy, fixture.loops.loops[0])
            let held = try await blocking { try HeldLoop(loop) }
            while loop.post({}) {}
            let clock = Task { try await proxy.setClock(.pause) }
            let faults = Task { try await proxy.apply(Profile([], phases: [Phase("one", nil)])) }
            // Until both are posted.
            for _ in 0..<10_000 { await Task.yield() }
            held.letGo()
            _ = try await (clock.value, faults.value)
            #expect(proxy.clock.isPaused && proxy.clock.phase == "one")
        }
    }

    @Test func `a stopped clock stays so in another profile`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile(.silence)) { fixture in
            try await fixture.proxy.setClock(.pause)
            try await fixture.proxy.setClock(.step(phase: "gone"))
            try await fixture.proxy.apply(Profile([], phases: [Phase("one", .seconds(3_600)), Phase("two", nil)]))
            #expect(fixture.proxy.clock == ClockReading(time: .seconds(3_600), isPaused: true, phase: "two"))
        }
    }

    @Test(arguments: ["nowhere", "never"])
    func `a phase that the profile doesn't come to is an error and changes nothing`(phase: String) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let proxy = try await withProxy(to: server.address, profile(.silence)) { fixture in
            let error = await #expect(throws: ProxyError.unknownPhase(phase)) {
                try await fixture.proxy.setClock(.step(phase: phase))
            }
            #expect(error?.description.contains("“\(phase)”") == true)
            #expect(fixture.proxy.clock.phase == "there")
            return fixture.proxy
        }
        await #expect(throws: ProxyError.stopped) { try await proxy.setClock(.pause) }
    }
}
