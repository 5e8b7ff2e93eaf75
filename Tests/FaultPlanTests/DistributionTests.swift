import FaultProfile
import Foundation
import SimulatedLink
import Testing
import Units

@testable import FaultPlan

/// Whether delays are distributed as they should be: the test of Kolmogorov and Smirnov at 1 %.
@Suite("The distribution of a latency")
struct DistributionTests {
    /// The largest distance between the two distribution functions that 10,000 draws have in 99 cases of 100.
    private static let critical = 1.628 / 10_000.0.squareRoot()
    private static let table: [Duration] = [
        .milliseconds(10), .milliseconds(12), .milliseconds(12), .milliseconds(40), .milliseconds(300),
    ]
    private static let all: [Latency.Distribution] = Latency.Distribution.words + [.quantiles(table)]

    /// The chance of a delay of at most `milliseconds`, with a delay of 100 ms and a jitter of 20 ms.
    private static func chance(of distribution: Latency.Distribution, upTo milliseconds: Double) -> Double {
        switch distribution {
        case .uniform: return min(1, max(0, (milliseconds - 80) / 40))
        case .normal: return normal((milliseconds - 100) / 20)
        case .pareto:
            let scaled = (milliseconds - 100) / 20 * 0.75.squareRoot() + 1.5
            return scaled <= 1 ? 0 : 1 - pow(scaled, -3)
        case .logNormal:
            let variance = log(1 + 0.04)
            return normal((log(milliseconds / 100) + variance / 2) / variance.squareRoot())
        case .quantiles(let table):
            let points = table.map { Double($0.nanoseconds) / 1e6 + 100 }
            guard let last = points.lastIndex(where: { $0 <= milliseconds }) else { return 0 }
            guard last < points.count - 1 else { return 1 }
            let part = (milliseconds - points[last]) / (points[last + 1] - points[last])
            return (Double(last) + part) / Double(points.count - 1)
        }
    }

    private static func normal(_ deviate: Double) -> Double { erfc(-deviate / 2.0.squareRoot()) / 2 }

    private func distance(of draws: [Double], from distribution: Latency.Distribution) -> Double {
        var worst = 0.0
        for (index, draw) in draws.sorted().enumerated() {
            // Where the distribution function jumps, as in a table with equal quantiles, only its values on
            // the two sides of the jump count.
            let below = Self.chance(of: distribution, upTo: draw - 1e-6)
            let upTo = Self.chance(of: distribution, upTo: draw + 1e-6)
            worst = max(worst, Double(index) / 10_000 - upTo, below - Double(index + 1) / 10_000)
        }
        return worst
    }

    private static func latency(_ distribution: Latency.Distribution, correlation: Double = 0) -> Latency {
        Latency(
            delay: .milliseconds(100),
            jitter: .milliseconds(20),
            distribution: distribution,
            correlation: Probability(correlation) ?? .never
        )
    }

    @Test(arguments: all, [1, 2, 3] as [UInt64])
    func `is the promised one over 10,000 messages in virtual time`(
        distribution: Latency.Distribution,
        seed: UInt64
    ) {
        let fault = Fault(name: "latency", kind: .latency(Self.latency(distribution)))
        let arrivals = (0..<10_000).map { LinkSimulation.Arrival(at: .seconds($0 * 60), bytes: 1) }
        var simulation = LinkSimulation(.with(fault, seed: seed), arrivals: arrivals)
        simulation.run()
        #expect(simulation.deliveries.count == 10_000)
        let delays = zip(simulation.deliveries, arrivals).map { Double(($0.moment - $1.moment).nanoseconds) / 1e6 }
        #expect(distance(of: delays, from: distribution) < Self.critical)
    }

    @Test(arguments: all, [0.3, 0.95])
    func `stays the promised one under correlation`(distribution: Latency.Distribution, correlation: Double) {
        // The eighth draw of each of 10,000 links: draws of one link depend on each other, these don't.
        let delays = (0..<10_000 as Range<UInt64>).map { seed in
            var draws = DelayDraws(Self.latency(distribution, correlation: correlation), key: RandomKey(seed: seed))
            return (0..<8 as Range<Int64>).map { Double(draws.delay(at: $0 * 100)) / 1e6 }[7]
        }
        #expect(distance(of: delays, from: distribution) < Self.critical)
    }

    @Test
    func `would not pass for another one`() {
        let draws = (0..<10_000).map { Double($0) / 10_000 * 41 + 80 }
        #expect(distance(of: draws, from: .uniform) > Self.critical)
        #expect(distance(of: draws, from: .normal) > Self.critical)
    }

    @Test(arguments: [0, 0.25, 0.5, 0.9])
    func `has draws that take after the one before as the correlation says`(correlation: Double) {
        var draws = DelayDraws(Self.latency(.normal, correlation: correlation), key: RandomKey(seed: 5))
        let delays = (0..<10_000).map { (Double(draws.delay(at: $0)) / 1e6 - 100) / 20 }
        func product(_ distance: Int) -> Double {
            zip(delays, delays.dropFirst(distance)).map { $0 * $1 }.reduce(0, +) / delays.map { $0 * $0 }.reduce(0, +)
        }
        #expect(abs(product(1) - correlation) < 0.04)
        #expect(abs(product(2) - correlation * correlation) < 0.06)
    }

    @Test(arguments: all)
    func `is one draw for all where the correlation is total`(distribution: Latency.Distribution) {
        var draws = DelayDraws(Self.latency(distribution, correlation: 1), key: RandomKey(seed: 5))
        #expect(Set((0..<1_000).map { draws.delay(at: $0) }).count == 1)
    }

    @Test(arguments: all, [0, 0.9])
    func `is never drawn from twice at one position`(distribution: Latency.Distribution, correlation: Double) {
        let latency = Self.latency(distribution, correlation: correlation)
        var once = DelayDraws(latency, key: RandomKey(seed: 9))
        var twice = once
        for position in 0..<100 as Range<Int64> {
            let delay = once.delay(at: position)
            #expect(twice.delay(at: position) == delay)
            #expect(twice.delay(at: position) == delay)
        }
    }

    @Test
    func `has the tail of its shape`() {
        var draws = DelayDraws(Self.latency(.pareto), key: RandomKey(seed: 2))
        let delays = (0..<10_000).map { Double(draws.delay(at: $0)) / 1e6 }
        #expect(delays.allSatisfy { $0 > 100 - 0.578 * 20 })
        // Five deviations above the mean: 50 of 10,000 by Pareto, none in a million by the bell curve.
        #expect((29...71).contains(delays.count { $0 > 200 }))
    }

    @Test
    func `overflows nothing, whatever the numbers`() {
        for distribution in Latency.Distribution.words + [.quantiles([.zero, .nanoseconds(Int64.max)])] {
            let huge = Duration.nanoseconds(Int64.max)
            let latency = Latency(delay: huge, jitter: huge, distribution: distribution, minimum: huge)
            var draws = DelayDraws(latency, key: RandomKey(seed: 1))
            #expect((0..<100).allSatisfy { draws.delay(at: $0) > 9_000_000_000_000_000_000 })
        }
    }
}
