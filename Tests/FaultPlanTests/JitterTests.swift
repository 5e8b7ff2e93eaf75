import FaultProfile
import SimulatedLink
import Testing
import Units

@testable import FaultPlan

@Suite("Jitter")
struct JitterTests {
    private func draws(_ distribution: Latency.Distribution, delay: Duration, jitter: Duration) -> [Double] {
        let latency = Latency(delay: delay, jitter: jitter, distribution: distribution)
        var draws = DelayDraws(latency, key: RandomKey(seed: 11))
        return (0..<10_000).map { Double(draws.delay(at: $0)) }
    }

    @Test
    func `drawn evenly stays within its bounds and reaches for both`() {
        let draws = draws(.uniform, delay: .milliseconds(50), jitter: .milliseconds(10))
        #expect(draws.allSatisfy { $0 >= 40e6 && $0 <= 60e6 })
        #expect((draws.min() ?? 0) < 40.01e6)
        #expect((draws.max() ?? 0) > 59.99e6)
        let (mean, deviation) = moments(of: draws)
        #expect(abs(mean - 50e6) < 0.3e6)
        #expect(abs(deviation - 20e6 / 12.0.squareRoot()) < 0.1e6)
    }

    @Test
    func `drawn from the bell curve has its mean, its deviation and its tails`() {
        let draws = draws(.normal, delay: .milliseconds(100), jitter: .milliseconds(10))
        let (mean, deviation) = moments(of: draws)
        #expect(abs(mean - 100e6) < 0.4e6)
        #expect(abs(deviation - 10e6) < 0.3e6)
        let withinOne = draws.count { abs($0 - 100e6) < 10e6 }
        let withinTwo = draws.count { abs($0 - 100e6) < 20e6 }
        #expect((6_640...7_010).contains(withinOne))
        #expect((9_460...9_630).contains(withinTwo))
    }

    @Test(arguments: [Latency.Distribution.uniform, .normal, .pareto])
    func `never makes a delay negative`(distribution: Latency.Distribution) {
        let draws = draws(distribution, delay: .milliseconds(1), jitter: .milliseconds(10))
        #expect(draws.allSatisfy { $0 >= 0 })
        #expect(draws.contains(0))
    }

    @Test(arguments: Latency.Distribution.words)
    func `keeps the order of bytes`(distribution: Latency.Distribution) {
        let fault = Fault.latency(.milliseconds(5), jitter: .milliseconds(5), distribution: distribution)
        let arrivals = (0..<500).map { LinkSimulation.Arrival(at: Moment(nanoseconds: $0 * 100_000), bytes: 3) }
        var simulation = LinkSimulation(.with(fault), arrivals: arrivals)
        simulation.run()
        let moments = simulation.deliveries.map(\.moment)
        #expect(moments == moments.sorted())
        #expect(simulation.link.delivered == 1_500)
    }

    @Test
    func `delays each message by a draw of its own`() {
        let fault = Fault.latency(.milliseconds(50), jitter: .milliseconds(10))
        let arrivals = (0..<20).map { LinkSimulation.Arrival(at: .seconds($0), bytes: 10) }
        var simulation = LinkSimulation(.with(fault), arrivals: arrivals)
        simulation.run()
        let delays = zip(simulation.deliveries, arrivals).map { ($0.moment - $1.moment).nanoseconds }
        #expect(Set(delays).count == 20)
        #expect(delays.allSatisfy { (40_000_000...60_000_000).contains($0) })
    }

    @Test(arguments: [1, 7, 1_460, 16_384, 65_536, 1 << 20] as [Int64])
    func `does not depend on how many reads take the bytes in`(readSize: Int64) {
        let fault = Fault.latency(.milliseconds(5), jitter: .milliseconds(4))
        let sizes: [Int64] = [10, 20_000, 5_000, 1, 40_000]
        let arrivals = sizes.enumerated().map {
            LinkSimulation.Arrival(at: .milliseconds(Int64($0.offset)), bytes: $0.element)
        }
        func trace(_ readSize: Int64) -> [LinkSimulation.Delivery] {
            var simulation = LinkSimulation(.with(fault), arrivals: arrivals, readSize: readSize)
            simulation.run()
            return simulation.lastOfEachMoment
        }
        #expect(trace(readSize) == trace(1 << 30))
    }

    @Test
    func `draws anew at every 16 KiB of one large arrival`() {
        let arrivals = [LinkSimulation.Arrival(at: .zero, bytes: 100 * LatencyStage.intervalLength)]
        let fault = Fault.latency(.milliseconds(5), jitter: .milliseconds(4))
        var simulation = LinkSimulation(.with(fault, seed: 4), arrivals: arrivals)
        simulation.run()
        #expect(simulation.deliveries.count > 2)
        #expect(simulation.deliveries.allSatisfy { $0.offset.isMultiple(of: LatencyStage.intervalLength) })
    }

    @Test
    func `is another for another seed, fault name or connection`() {
        func firstDelay(seed: UInt64 = 1, name: String = "a", skipping: Int = 0) -> Int64 {
            var admitter = Admitter.of(.of([.latency(.seconds(1), jitter: .seconds(1), name: name)]), seed: seed)
            for _ in 0..<skipping { _ = admitter.accept(at: .zero) }
            var simulation = LinkSimulation(admitter.accept(at: .zero).upstream, arrivals: [.init(at: .zero, bytes: 1)])
            simulation.run()
            return simulation.now.nanoseconds
        }
        let delays = [firstDelay(), firstDelay(seed: 2), firstDelay(name: "b"), firstDelay(skipping: 1)]
        #expect(Set(delays).count == 4)
        #expect(firstDelay() == firstDelay())
    }

    private func moments(of draws: [Double]) -> (mean: Double, deviation: Double) {
        let mean = draws.reduce(0, +) / Double(draws.count)
        let variance = draws.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(draws.count)
        return (mean, variance.squareRoot())
    }
}

extension LinkSimulation {
    /// The deliveries with those of one moment put together, so that read sizes don't show.
    var lastOfEachMoment: [Delivery] {
        var result: [Delivery] = []
        for delivery in deliveries {
            if let last = result.last, last.moment == delivery.moment { result.removeLast() }
            result.append(delivery)
        }
        return result
    }
}
