import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

/// Of two rates in a row the lower one counts at each moment, and what the other could have carried isn't saved up.
@Suite("Two rates in a row")
struct RatesInSeriesTests {
    /// A stage with a rate, and the rate at a time in seconds, worked out apart.
    struct Paced: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let kind: FaultKind
        let rate: @Sendable (Double) -> Double
    }

    private static func bandwidth(_ bandwidth: Bandwidth, _ scope: Bandwidth.Scope) -> FaultKind {
        var bandwidth = bandwidth
        bandwidth.scope = scope
        return .bandwidth(bandwidth)
    }

    private static func rates(_ scope: Bandwidth.Scope) -> [Paced] {
        var steps = Bandwidth(rate: .bytesPerSecond(3_000_000))
        steps.variation = .steps(
            [.init(after: .milliseconds(500), rate: .bytesPerSecond(500_000))],
            repeats: .seconds(1)
        )
        var wave = Bandwidth(rate: .bytesPerSecond(400_000))
        wave.variation = .wave(high: .bytesPerSecond(2_400_000), period: .milliseconds(1_700))
        return [
            Paced(
                testDescription: "1.1 MB/s per \(scope)",
                kind: bandwidth(Bandwidth(rate: .bytesPerSecond(1_100_000)), scope),
                rate: { _ in 1_100_000 }
            ),
            Paced(
                testDescription: "steps per \(scope)",
                kind: bandwidth(steps, scope),
                rate: { $0.truncatingRemainder(dividingBy: 1) < 0.5 ? 3_000_000 : 500_000 }
            ),
            Paced(
                testDescription: "wave per \(scope)",
                kind: bandwidth(wave, scope),
                rate: { time in
                    let rest = time.truncatingRemainder(dividingBy: 1.7)
                    return 400_000 + 2_000_000 * 2 * min(rest, 1.7 - rest) / 1.7
                }
            ),
        ]
    }

    static let stages =
        rates(.connection) + rates(.proxy) + [
            Paced(
                testDescription: "slow reader",
                kind: .slowReader(SlowReader(rate: .bytesPerSecond(900_000))),
                rate: { _ in 900_000 }
            ),
            Paced(
                testDescription: "trace",
                kind: .trace(Trace(file: "", opportunities: [1], queue: ByteCount(3_000))),
                rate: { _ in 1_500_000 }
            ),
        ]

    /// What the lower rate of each moment carries in `seconds`.
    static func carried(_ stages: [Paced], seconds: Double) -> Double {
        let steps = 100_000
        return (0..<steps).reduce(0) { sum, step in
            let time = (Double(step) + 0.5) * seconds / Double(steps)
            return sum + stages.reduce(.infinity) { min($0, $1.rate(time)) } * seconds / Double(steps)
        }
    }

    @Test(arguments: stages, stages)
    func `carry what the lower one carries at each moment`(first: Paced, second: Paced) {
        let faults = [Fault(name: "a", kind: first.kind), Fault(name: "b", kind: second.kind)]
        var admitter = Admitter.of(.of(faults))
        var pump = Pump(admitter.accept(at: .zero).downstream, waiting: nil)
        pump.run(until: .seconds(7))
        let expected = Self.carried([first, second], seconds: 7)
        #expect(
            abs(Double(pump.link.delivered) - expected) <= 0.01 * expected,
            "\(pump.link.delivered), not \(expected)"
        )
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `save nothing up for the time after, but the burst`() {
        let slow = Fault.bandwidth(bytesPerSecond: 100_000, name: "slow").when(Condition(ageUntil: .seconds(2)))
        var admitter = Admitter.of(.of([.bandwidth(bytesPerSecond: 1_000_000, burst: 20_000, name: "fast"), slow]))
        var pump = Pump(admitter.accept(at: .zero).downstream, waiting: nil)
        pump.run(until: .seconds(3))
        #expect(abs(pump.link.delivered - 1_220_000) <= 2_000, "\(pump.link.delivered)")
    }

    /// A rate of its own and a shared one, or two shared ones, by their bytes a second.
    static let nearlyEqual: [(first: Bandwidth.Scope, second: Bandwidth.Scope, rates: (Int64, Int64))] = [
        (.connection, .proxy, (1_000_000, 1_000_000)), (.connection, .proxy, (1_000_000, 1_000_300)),
        (.connection, .proxy, (1_000_000, 999_700)), (.client, .proxy, (1_000_000, 1_000_000)),
        (.connection, .connection, (1_000_000, 1_000_300)), (.connection, .proxy, (125_000, 125_000)),
    ]

    @Test(arguments: nearlyEqual.indices)
    func `of about the same speed are asked no more often than one of them`(index: Int) {
        let (first, second, rates) = Self.nearlyEqual[index]
        let kinds = [
            Self.bandwidth(Bandwidth(rate: .bytesPerSecond(rates.0)), first),
            Self.bandwidth(Bandwidth(rate: .bytesPerSecond(rates.1)), second),
        ]
        func decisions(_ kinds: [FaultKind]) -> Int {
            let faults = kinds.enumerated().map { Fault(name: "\($0.offset)", kind: $0.element) }
            var admitter = Admitter.of(.of(faults))
            var pump = Pump(
                admitter.accept(at: .zero, ConnectionFacts(client: "192.0.2.1")).downstream,
                waiting: 1_000_000
            )
            pump.run(until: .seconds(20))
            #expect(pump.link.delivered == 1_000_000)
            #expect(pump.violations.isEmpty)
            return pump.decisions
        }
        let most = kinds.map { decisions([$0]) }.max() ?? 0
        let both = decisions(kinds)
        #expect(both <= 2 * most, "\(both) questions, and \(most) of one rate alone")
    }
}
