import FaultPlan
import FaultProfile
import Foundation
import SimulatedLink
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

    /// The round trip in milliseconds, the outage in seconds, and what senders of Linux 6.18 (CUBIC) did behind a link of
    /// 100 Mbit/s with a queue of 20 packets: the number of the retransmission that got through, and its time.
    private static let kernel: [(roundTrip: Int, seconds: Int, number: Int, time: Double)] = [
        (20, 1, 3, 1.67), (20, 2, 4, 3.51), (20, 5, 5, 7.20), (20, 10, 6, 14.63), (50, 1, 3, 1.93), (50, 2, 4, 3.99),
        (50, 5, 5, 8.11), (50, 10, 6, 16.38), (100, 1, 2, 1.21), (100, 2, 3, 2.45),
    ]

    @Test(arguments: kernel)
    func `ends with the retransmission of a Linux sender, within a tenth of its time`(
        cell: (roundTrip: Int, seconds: Int, number: Int, time: Double)
    ) {
        for seed in 1...6 as ClosedRange<UInt64> {
            let length = Duration.milliseconds(cell.seconds * 1_000)
            let stall = stall(length, roundTrip: .milliseconds(cell.roundTrip), seed: seed)
            #expect(abs(stall / cell.time - 1) < 0.1, "\(stall)")
            // The time-outs before it are 1 + 2 + 4 + … of the first one.
            let first = Double(cell.roundTrip) / 1_000 + 0.2
            #expect(Int(log2(stall / first + 1).rounded()) == cell.number, "\(stall)")
        }
    }

    @Test
    func `of 5 s without a round trip stalls a transfer for 6.2 s, and up to an eighth longer`() {
        for seed in 1...6 as ClosedRange<UInt64> {
            #expect((6.2...6.7).contains(stall(.seconds(5), seed: seed)))
        }
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
        // A single packet is probed after 200 ms, and its timer fires 200 ms later; each is late by up to a tick.
        #expect((400...408).contains(simulation.now.nanoseconds / 1_000_000))
    }

    @Test
    func `goes on waiting when the outage comes back before the next try`() {
        let outage = Fault.outage(.silence, recovery: .tcpBackoff(roundTrip: nil))
        let phases = [
            Phase.lasting(.milliseconds(850), outage, name: "gone"), .lasting(.milliseconds(400), name: "back"),
        ]
        var pump = Pump(.with(phases: phases, repeats: true), waiting: 10)
        pump.run(until: .seconds(1))
        #expect(pump.link.delivered == 0)
        #expect(pump.violations.isEmpty)
        pump.run(until: .seconds(1_000))
        #expect(pump.link.delivered == 10)
    }
}
