import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A rate that changes")
struct RateCurveTests {
    private static let steps: [Bandwidth.Step] = [
        .init(after: .seconds(2), rate: .bytesPerSecond(100_000)),
        .init(after: .seconds(3), rate: .bytesPerSecond(4_000_000)),
    ]
    private static let variations: [Bandwidth.Variation] = [
        .steady, .steps(steps, repeats: nil), .steps(steps, repeats: .milliseconds(3_500)),
        .wave(high: .bytesPerSecond(5_000_000), period: .seconds(4)),
        .wave(high: .bytesPerSecond(1_000_001), period: .nanoseconds(7_000_003)),
    ]

    private static func bandwidth(_ variation: Bandwidth.Variation, burst: Int64 = 0) -> Bandwidth {
        Bandwidth(rate: .bytesPerSecond(1_000_000), burst: ByteCount(burst), variation: variation)
    }

    private func link(_ bandwidth: Bandwidth) -> Link { .with(Fault(name: "bandwidth", kind: .bandwidth(bandwidth))) }

    @Test
    func `of steps carries the sum of its parts`() {
        let curve = RateCurve(Self.bandwidth(.steps(Self.steps, repeats: nil)))
        #expect(curve.bytes(from: 0, to: 2_000_000_000) == 2_000_000)
        #expect(curve.bytes(from: 1_000_000_000, to: 4_000_000_000) == 1_000_000 + 100_000 + 4_000_000)
        #expect(curve.bytes(from: 0, to: 100_000_000_000) == 2_100_000 + 97 * 4_000_000)
        #expect(curve.rate(at: 2_999_999_999) == .bytesPerSecond(100_000))
        #expect(curve.rate(at: 3_000_000_000) == .bytesPerSecond(4_000_000))
    }

    @Test
    func `of every size passes in front of a slower one, for as long as it takes`() {
        let steps: [Bandwidth.Step] = [.init(after: .seconds(9), rate: .bytesPerSecond(1_000_000))]
        let fast = Bandwidth(rate: BitRate(bitsPerSecond: .max), burst: .zero, variation: .steps(steps, repeats: nil))
        var link = Link.with(Fault(name: "fast", kind: .bandwidth(fast)), .bandwidth(.bytesPerSecond(1_000_000)))
        for second in Int64(0)..<40 {
            for part in Int64(0)..<10 {
                let now = Moment(nanoseconds: second * 1_000_000_000 + part * 100_000_000)
                let decision = link.decide(available: 1 << 30, now: now)
                if decision.readLimit > 0 { link.bytesTaken(decision.readLimit, now: now) }
                let limit = link.decide(available: 1 << 30, now: now).writeOffset
                if limit > link.delivered { link.bytesDelivered(limit - link.delivered) }
            }
        }
        #expect((35_000_000...41_000_000).contains(link.delivered))
    }

    @Test
    func `of steps that start over is the same in every round, for a hundred years`() {
        let curve = RateCurve(Self.bandwidth(.steps(Self.steps, repeats: .milliseconds(3_500))))
        let round: Int64 = 2_000_000 + 100_000 + 2_000_000
        let century: Int64 = 3_500_000_000 * 900_000_000
        #expect(curve.bytes(from: 0, to: century) == 900_000_000 * round)
        #expect(curve.bytes(from: century, to: century + 3_500_000_000) == round)
        #expect(curve.time(from: century, forBytes: round) == century + 3_500_000_000)
    }

    @Test
    func `of a wave carries the mean in every period and the rise in between`() {
        let curve = RateCurve(Self.bandwidth(.wave(high: .bytesPerSecond(5_000_000), period: .seconds(4))))
        #expect(curve.rate(at: 0) == .bytesPerSecond(1_000_000))
        #expect(curve.rate(at: 1_000_000_000) == .bytesPerSecond(3_000_000))
        #expect(curve.rate(at: 2_000_000_000) == .bytesPerSecond(5_000_000))
        #expect(curve.rate(at: 3_500_000_000) == .bytesPerSecond(2_000_000))
        #expect(curve.bytes(from: 0, to: 1_000_000_000) == 2_000_000)
        #expect(curve.bytes(from: 0, to: 2_000_000_000) == 6_000_000)
        #expect(curve.bytes(from: 0, to: 3_000_000_000) == 10_000_000)
        let century: Int64 = 4_000_000_000 * 780_000_000
        #expect(curve.bytes(from: 0, to: century) == 780_000_000 * 12_000_000)
        #expect(curve.bytes(from: century + 1, to: century + 4_000_000_001) == 12_000_000)
    }

    @Test(arguments: variations)
    func `is the sum of its rates over small pieces of time`(variation: Bandwidth.Variation) {
        let curve = RateCurve(Self.bandwidth(variation))
        var sum = 0.0
        for piece in 0..<100_000 as Range<Int64> {
            sum += Double(curve.rate(at: piece * 100_000 + 50_000).bitsPerSecond) / 8 * 100_000 / 1e9
        }
        #expect(abs(sum - Double(curve.bytes(from: 0, to: 10_000_000_000))) < sum / 1_000)
    }

    @Test(arguments: variations)
    func `finds the time of every byte, never early and no more than nanoseconds late`(variation: Bandwidth.Variation) {
        let curve = RateCurve(Self.bandwidth(variation))
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<2_000 {
            let start = Int64.random(in: 0...30_000_000_000, using: &generator)
            let bytes = Int64.random(in: 1...20_000_000, using: &generator)
            let time = curve.time(from: start, forBytes: bytes)
            #expect(curve.bytes(from: start, to: time) >= bytes)
            #expect(curve.bytes(from: start, to: time - 20) <= bytes)
            let before = curve.time(before: start, forBytes: bytes)
            #expect(curve.bytes(from: before, to: start) >= bytes)
            #expect(curve.bytes(from: before + 30, to: start) <= bytes)
        }
    }

    @Test(arguments: variations)
    func `passes exactly its integral, however late the link is asked`(variation: Bandwidth.Variation) {
        let bandwidth = Self.bandwidth(variation)
        let curve = RateCurve(bandwidth)
        for lateness in [0, 1_000_003, 90_000_000] as [Int64] {
            var pump = Pump(link(bandwidth), waiting: nil)
            for second in 1...5 as ClosedRange<Int64> {
                pump.run(until: .seconds(second), lateness: lateness)
                #expect(pump.link.delivered == curve.bytes(from: 0, to: second * 1_000_000_000))
            }
            #expect(pump.violations.isEmpty)
        }
    }

    @Test(arguments: variations)
    func `gives the burst at the start and no more than it after an idle time`(variation: Bandwidth.Variation) {
        var pump = Pump(link(Self.bandwidth(variation, burst: 5_000)), waiting: 5_000)
        _ = pump.settle()
        #expect(pump.link.delivered == 5_000)
        pump.now = .seconds(47)
        pump.waiting = nil
        _ = pump.settle()
        #expect(pump.link.delivered == 10_000)
    }

    @Test
    func `that falls doesn't leave the link waiting for what the old rate would have carried`() {
        let steps = [Bandwidth.Step(after: .milliseconds(1_005), rate: .bytesPerSecond(100))]
        let bandwidth = Bandwidth(rate: .bytesPerSecond(100_000_000), variation: .steps(steps, repeats: nil))
        var pump = Pump(link(bandwidth), waiting: nil)
        pump.run(until: .milliseconds(1_104))
        let curve = RateCurve(bandwidth)
        #expect(pump.link.delivered >= curve.bytes(from: 0, to: 1_094_000_000))
        var admitter = Admitter.of(
            .of([
                Fault(
                    name: "b",
                    kind: .bandwidth(Bandwidth(rate: bandwidth.rate, scope: .proxy, variation: bandwidth.variation))
                )
            ])
        )
        var shared = Pump(admitter.accept(at: .zero).upstream, waiting: nil)
        shared.run(until: .milliseconds(1_300))
        #expect(abs(shared.link.delivered - curve.bytes(from: 0, to: 1_300_000_000)) <= 10)
    }

    @Test
    func `runs on the clock of its connection, and a shared one on that of the proxy`() {
        func delivered(_ scope: Bandwidth.Scope) -> Int64 {
            let variation = Bandwidth.Variation.steps(
                [.init(after: .seconds(2), rate: .bytesPerSecond(10_000))],
                repeats: nil
            )
            let bandwidth = Bandwidth(rate: .bytesPerSecond(1_000_000), scope: scope, variation: variation)
            var admitter = Admitter.of(.of([Fault(name: "bandwidth", kind: .bandwidth(bandwidth))]))
            var pump = Pump(admitter.accept(at: .seconds(5)).upstream, waiting: nil, at: .seconds(5))
            pump.run(until: .seconds(8))
            return pump.link.delivered
        }
        #expect(delivered(.connection) == 2_010_000)
        for scope in [Bandwidth.Scope.client, .proxy, .global] { #expect(abs(delivered(scope) - 30_000) <= 300) }
    }

    @Test(arguments: variations)
    func `is shared within a hundredth`(variation: Bandwidth.Variation) {
        var bandwidth = Self.bandwidth(variation)
        bandwidth.scope = .proxy
        var admitter = Admitter.of(.of([Fault(name: "bandwidth", kind: .bandwidth(bandwidth))]))
        var pumps = (0..<4).map { _ in Pump(admitter.accept(at: .zero).downstream, waiting: nil) }
        runTogether(&pumps, until: .seconds(8))
        let total = pumps.map(\.link.delivered).reduce(0, +)
        let promised = RateCurve(bandwidth).bytes(from: 0, to: 8_000_000_000)
        #expect(abs(total - promised) <= promised / 100)
        #expect(pumps.allSatisfy { abs($0.link.delivered - promised / 4) <= promised / 100 })
        #expect(pumps.allSatisfy { $0.violations.isEmpty })
    }

    @Test
    func `of absurd numbers overflows nothing`() {
        let variations: [Bandwidth.Variation] = [
            .steps(
                [.init(after: .nanoseconds(1), rate: BitRate(bitsPerSecond: .max))],
                repeats: .nanoseconds(Int64.max)
            ),
            .wave(high: BitRate(bitsPerSecond: .max), period: Bandwidth.longestPeriod),
            .wave(high: BitRate(bitsPerSecond: .max), period: .nanoseconds(1)),
        ]
        for variation in variations {
            let bandwidth = Bandwidth(rate: BitRate(bitsPerSecond: 1), burst: ByteCount(.max), variation: variation)
            var pump = Pump(link(bandwidth), waiting: 1 << 36)
            pump.end = .finish
            pump.run(until: .seconds(200_000))
            #expect(pump.ended == .finish)
            #expect(RateCurve(bandwidth).bytes(from: 0, to: .max) > 0)
            #expect(RateCurve(bandwidth).time(from: 0, forBytes: .max) > 0)
            #expect(RateCurve(bandwidth).time(before: .max, forBytes: .max) < .max)
        }
    }
}
