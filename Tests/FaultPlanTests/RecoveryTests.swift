import FaultPlan
import FaultProfile
import Testing
import Units

@Suite("An outage with the recovery tcp-backoff")
struct RecoveryTests {
    /// How long a transfer stands still that meets an outage of `length` after a second.
    private func stall(_ length: Duration, roundTrip: Duration? = nil, seed: UInt64) -> Double {
        let outage = Fault.outage(.silence, recovery: .tcpBackoff(roundTrip: roundTrip))
        let phases = [Phase.lasting(.seconds(1)), .lasting(length, outage, name: "gone"), .lasting(nil, name: "back")]
        var simulation = LinkSimulation(
            .with(.bandwidth(bytesPerSecond: 10_000), phases: phases, seed: seed),
            arrivals: [.init(at: .zero, bytes: 1_000_000)]
        )
        simulation.run(until: .seconds(25))
        let moments = simulation.deliveries.map { Double($0.moment.nanoseconds) / 1e9 }
        return zip(moments.dropFirst(), moments).map { $0 - $1 }.max() ?? 0
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `of 5 s stalls a transfer for 5.5 to 6.5 s`(seed: UInt64) {
        #expect((5.5...6.5).contains(stall(.seconds(5), seed: seed)))
        #expect((5.5...6.5).contains(stall(.seconds(5), roundTrip: .milliseconds(50), seed: seed)))
    }

    @Test(arguments: [1, 2, 10])
    func `stalls it for up to twice as long, never for less`(seconds: Int) {
        for seed in 1...4 as ClosedRange<UInt64> {
            let stall = stall(.seconds(seconds), seed: seed)
            #expect(stall >= Double(seconds))
            #expect(stall <= 2 * Double(seconds) + 0.3)
        }
    }

    @Test
    func `starts its timer at 1.5 round trips`() {
        // 0.9 to 1.03 s, then twice that after it: 2.7 to 3.1 s.
        #expect((2.7...3.11).contains(stall(.seconds(2), roundTrip: .milliseconds(667), seed: 3)))
    }

    @Test
    func `holds a stream only if something waited, and lets all of it go at once`() {
        let outage = Fault.outage(.silence, recovery: .tcpBackoff(roundTrip: nil))
        let phases = [
            Phase.lasting(.milliseconds(300), outage, name: "gone"), .lasting(nil, name: "back"),
        ]
        let idle = timeline(of: .with(phases: phases), arrivals: "----1-|", tick: .milliseconds(100))
        #expect(idle == "----1-|")
        var simulation = LinkSimulation(
            .with(phases: phases),
            arrivals: [.init(at: .zero, bytes: 5), .init(at: .milliseconds(310), bytes: 4, end: .finish)]
        )
        simulation.run()
        #expect(simulation.events.map(\.effect) == [.silences])
        #expect(simulation.deliveries.map(\.offset).last == 9)
        // The second time that a timer of 180 to 206 ms fires.
        #expect((540...618).contains(simulation.now.nanoseconds / 1_000_000))
    }

    @Test
    func `goes on waiting when the outage comes back before the next try`() {
        let outage = Fault.outage(.silence, recovery: .tcpBackoff(roundTrip: nil))
        let phases = [
            Phase.lasting(.milliseconds(700), outage, name: "gone"), .lasting(.milliseconds(400), name: "back"),
        ]
        var pump = Pump(.with(phases: phases, repeats: true), waiting: 10)
        pump.run(until: .seconds(1))
        #expect(pump.link.delivered == 0)
        #expect(pump.violations.isEmpty)
        pump.run(until: .seconds(1_000))
        #expect(pump.link.delivered == 10)
    }
}
