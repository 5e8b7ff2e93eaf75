import SimulatedLink
import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A latency's spikes and minimum")
struct SpikeTests {
    private static let spikes = Latency.Spikes(
        every: .seconds(10),
        duration: .milliseconds(500),
        extra: .milliseconds(300)
    )

    /// What each of a message every 10 ms, for 100 s, is delayed by, in milliseconds.
    private func delays(_ latency: Latency, seed: UInt64 = 1, opened: Moment = .zero) -> [Int64] {
        var admitter = Admitter.of(.of([Fault(name: "latency", kind: .latency(latency))]), seed: seed)
        let arrivals = (0..<10_000).map {
            LinkSimulation.Arrival(at: opened.advanced(byNanoseconds: $0 * 10_000_000), bytes: 1)
        }
        var simulation = LinkSimulation(admitter.accept(at: opened).downstream, arrivals: arrivals)
        simulation.run()
        var delays: [Int64] = []
        for delivery in simulation.deliveries {
            while delays.count < delivery.offset {
                delays.append((delivery.moment - arrivals[delays.count].moment).nanoseconds / 1_000_000)
            }
        }
        return delays
    }

    @Test
    func `come once in every period, for their length, and never turn the order around`() {
        let delays = delays(Latency(delay: .milliseconds(20), spikes: Self.spikes))
        #expect(delays.count == 10_000)
        // In a spike 320 ms; behind it, what came while the last of it was on its way waits for that.
        let starts = delays.indices.dropFirst().filter { delays[$0] == 320 && delays[$0 - 1] == 20 }
        #expect((9...10).contains(starts.count))
        #expect(zip(starts, starts.dropFirst()).allSatisfy { $1 - $0 == 1_000 })
        #expect((450...550).contains(delays.count { $0 == 320 }))
        #expect(delays.allSatisfy { $0 >= 20 && $0 <= 320 })
    }

    @Test
    func `begin at an age that is drawn, whenever the connection came`() {
        let latency = Latency(delay: .milliseconds(20), spikes: Self.spikes)
        let first = delays(latency).firstIndex(of: 320)
        #expect(delays(latency, opened: .milliseconds(123_456)).firstIndex(of: 320) == first)
        let others = (2...6).map { delays(latency, seed: $0).firstIndex(of: 320) }
        #expect(Set(others + [first]).count > 3)
    }

    @Test(arguments: 1...8)
    func `of all connections come on the proxy's clock, and not before it starts`(seed: UInt64) {
        var spikes = Self.spikes
        spikes.scope = .proxy
        let key = RandomKey(seed: seed)
        let times = SpikeTimes(spikes, key: key, commonKey: key)
        for before in [1, 500_000_000, 3_600_000_000_000] as [Int64] {
            let time = LinkTime(age: 0, clock: -before)
            #expect(times.extra(at: time) == 0)
            #expect(times.change(after: time) == before)
        }
        let begin = LinkTime(age: 0, clock: 0)
        let later = LinkTime(age: 0, clock: 10_000_000_000)
        #expect(times.extra(at: begin) == times.extra(at: later))
        #expect(times.change(after: begin) == times.change(after: later))
    }

    @Test
    func `change no draw`() {
        var plain = Latency(delay: .milliseconds(500), jitter: .milliseconds(100))
        let without = delays(plain)
        plain.spikes = Latency.Spikes(every: .seconds(10), duration: .milliseconds(1), extra: .nanoseconds(1))
        #expect(delays(plain) == without)
    }

    @Test
    func `keep to the order of bytes under correlation and jitter`() throws {
        let latency = Latency(
            delay: .milliseconds(50),
            jitter: .milliseconds(60),
            distribution: .pareto,
            correlation: try #require(Probability(0.7)),
            minimum: .milliseconds(30),
            spikes: Self.spikes
        )
        let fault = Fault(name: "latency", kind: .latency(latency))
        let arrivals = (0..<1_000).map { LinkSimulation.Arrival(at: .milliseconds($0 * 13), bytes: 20_000) }
        var simulations: [[LinkSimulation.Delivery]] = []
        for readSize in [700, 1 << 20] as [Int64] {
            var simulation = LinkSimulation(.with(fault), arrivals: arrivals, readSize: readSize)
            simulation.run()
            #expect(simulation.link.delivered == 20_000_000)
            #expect(simulation.deliveries.map(\.moment) == simulation.deliveries.map(\.moment).sorted())
            simulations.append(simulation.lastOfEachMoment)
        }
        #expect(simulations[0] == simulations[1])
    }

    @Test
    func `leave no delay below the minimum`() {
        var latency = Latency(delay: .milliseconds(20), jitter: .milliseconds(20))
        #expect(delays(latency).contains { $0 < 15 })
        latency.minimum = .milliseconds(15)
        #expect(delays(latency).allSatisfy { $0 >= 15 })
    }
}
