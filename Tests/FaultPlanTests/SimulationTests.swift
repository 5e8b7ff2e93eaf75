import FaultProfile
import Testing
import Units

@testable import FaultPlan
@testable import SimulatedLink

@Suite("A simulation")
struct SimulationTests {
    @Test
    func `stops at its deadline and goes on from there`() {
        let arrivals = [LinkSimulation.Arrival(at: .zero, bytes: 4_000, end: .finish)]
        var simulation = LinkSimulation(.with(.bandwidth(bytesPerSecond: 1_000)), arrivals: arrivals)
        simulation.run(until: .seconds(1))
        #expect(simulation.link.delivered == 1_000)
        #expect(simulation.now == .seconds(1))
        simulation.run(until: .seconds(2))
        #expect(simulation.link.delivered == 2_000)
        simulation.run()
        #expect(simulation.deliveries.last == .init(moment: .seconds(4), offset: 4_000, end: .finish))
    }

    @Test
    func `ends when nothing more can happen`() {
        var simulation = LinkSimulation(.with(.stall(at: 9, for: .seconds(1))), arrivals: [.init(at: .zero, bytes: 5)])
        simulation.run()
        #expect(simulation.link.delivered == 5)
        #expect(!simulation.link.isFinished)
    }

    @Test
    func `of nothing at all does nothing`() {
        var simulation = LinkSimulation(.with(.latency(.seconds(1))), arrivals: [])
        simulation.run()
        #expect(simulation.deliveries.isEmpty && simulation.now == .zero)
    }

    @Test
    func `ends at its step limit where the network never comes back`() {
        let phases = [Phase.lasting(.seconds(1), name: "a"), .lasting(.seconds(1), .latency(.zero), name: "b")]
        let link = Link.with(.outage(.silence), phases: phases, repeats: true)
        var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 5)], stepLimit: 1_000)
        simulation.run()
        #expect(simulation.link.delivered == 0)
        #expect(simulation.now <= .seconds(1_000))
    }

    @Test
    func `takes an hour of every fault together in no time`() {
        let phases = [
            Phase.lasting(.seconds(20), .bandwidth(bytesPerSecond: 40_000, scope: .proxy, name: "shared"), name: "a"),
            .lasting(.seconds(7), .outage(.silence), name: "gone"),
            .lasting(.seconds(30), .stall(at: 2_000_000, for: .seconds(3)), name: "b"),
        ]
        let link = Link.with(
            .latency(.milliseconds(40), jitter: .milliseconds(10), distribution: .normal),
            .bandwidth(bytesPerSecond: 30_000, burst: 10_000),
            .stall(at: 100_000, for: .seconds(20), name: "early"),
            .cut(at: 90_000_000),
            phases: phases,
            repeats: true
        )
        let arrivals = (0..<3_600).map { LinkSimulation.Arrival(at: .seconds($0), bytes: 2_000) }
        var simulation = LinkSimulation(link, arrivals: arrivals)
        let spent = ContinuousClock().measure { simulation.run() }
        #expect(simulation.link.delivered == 7_200_000)
        #expect(simulation.events.count { $0.effect == .stalls } == 2)
        #expect(simulation.events.count { $0.effect == .silences } >= 60)
        #expect(simulation.now >= .seconds(3_599))
        #expect(spent < .seconds(5))
    }
}
