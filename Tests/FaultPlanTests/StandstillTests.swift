import SimulatedLink
import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A link in front of a delay that falls")
struct StandstillTests {
    private static let rate = BitRate(bitsPerSecond: 20_000_000)
    /// The bytes that the rate carries in 10 ms.
    private static let share: Int64 = 25_000

    private func spikes(
        isBehind: Bool = false,
        _ scope: Latency.Spikes.Scope = .connection,
        delay: Duration = .milliseconds(20),
        jitter: Duration = .zero
    ) -> Fault {
        let spikes = Latency.Spikes(
            every: .seconds(2),
            duration: .milliseconds(400),
            extra: .milliseconds(250),
            isBehind: isBehind,
            scope: scope
        )
        return Fault(name: "spiky", kind: .latency(Latency(delay: delay, jitter: jitter, spikes: spikes)))
    }

    /// The deliveries of a source that never runs dry, for so many seconds.
    private func deliveries(_ link: Link, seconds: Int64 = 10) -> [LinkSimulation.Delivery] {
        var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 1 << 40)])
        simulation.run(until: .seconds(seconds))
        return simulation.deliveries
    }

    /// The most bytes in any time of `length` nanoseconds.
    private func most(_ deliveries: [LinkSimulation.Delivery], in length: Int64) -> Int64 {
        var (first, before, most): (Int, Int64, Int64) = (0, 0, 0)
        for delivery in deliveries {
            while deliveries[first].moment.nanoseconds <= delivery.moment.nanoseconds - length {
                before = deliveries[first].offset
                first += 1
            }
            most = max(most, delivery.offset - before)
        }
        return most
    }

    /// The milliseconds at which gaps of at least 200 ms begin.
    private func gaps(_ deliveries: [LinkSimulation.Delivery]) -> [Int64] {
        zip(deliveries, deliveries.dropFirst()).compactMap { last, next in
            let length = next.moment.nanoseconds - last.moment.nanoseconds
            return length >= 200_000_000 ? (last.moment.nanoseconds + 500_000) / 1_000_000 : nil
        }
    }

    @Test(arguments: Bandwidth.Scope.allCases, Latency.Spikes.Scope.allCases)
    func `lets no more through after a spike than its rate, and is silent once in each`(
        shared: Bandwidth.Scope,
        clock: Latency.Spikes.Scope
    ) {
        let deliveries = deliveries(.with(.bandwidth(Self.rate, scope: shared), spikes(clock)))
        #expect(most(deliveries, in: 10_000_000) <= Self.share * 11 / 10)
        let gaps = gaps(deliveries)
        #expect((4...5).contains(gaps.count))
        #expect(zip(gaps, gaps.dropFirst()).allSatisfy { abs($1 - $0 - 2_000) <= 1 })
        // Each spike costs its extra delay, and no more.
        let carried = Self.share * 1_000 - deliveries[deliveries.count - 1].offset
        #expect(carried <= Self.share * 25 * 5 + Self.share * 4)
    }

    @Test
    func `whose rate is a trace loses the opportunities of that time`() {
        // Five every 3 ms, so up to four times five in 10 ms.
        let opportunities = (1...500).flatMap { index in [UInt32](repeating: UInt32(index * 3), count: 5) }
        let trace = Trace(file: "t", opportunities: opportunities, queue: ByteCount(128 << 10))
        let deliveries = deliveries(.with(Fault(name: "trace", kind: .trace(trace)), spikes()))
        #expect(most(deliveries, in: 10_000_000) <= Self.share * 6 / 5)
        #expect((4...5).contains(gaps(deliveries).count))
    }

    @Test
    func `passes all at once what comes after a spike behind the bottleneck`() {
        let deliveries = deliveries(.with(.bandwidth(Self.rate), spikes(isBehind: true)))
        #expect(most(deliveries, in: 1_000_000) > 600_000)
        #expect(deliveries[deliveries.count - 1].offset > Self.share * 950)
    }

    @Test
    func `doesn't stand still for the jitter of a delay`() {
        let jittered = deliveries(.with(.bandwidth(Self.rate), .latency(.milliseconds(20), jitter: .milliseconds(20))))
        #expect(jittered[jittered.count - 1].offset > Self.share * 990)
        let spiky = deliveries(.with(.bandwidth(Self.rate), spikes(jitter: .milliseconds(20))))
        #expect(spiky[spiky.count - 1].offset > Self.share * 860)
    }

    @Test
    func `holds its rate with another delay after the spikes, in either order of the profile`() {
        for faults in [[spikes(), .latency(.milliseconds(100))], [.latency(.milliseconds(100)), spikes()]] {
            let deliveries = deliveries(.with(.bandwidth(Self.rate), faults[0], faults[1]))
            #expect(most(deliveries, in: 10_000_000) <= Self.share * 11 / 10)
            #expect(gaps(deliveries).count >= 4)
        }
    }

    @Test
    func `lets no more through than its rate when a delay goes off with its phase`() {
        let phases = [
            Phase.lasting(.seconds(2), .latency(.milliseconds(300)), name: "far"),
            .lasting(.seconds(2), name: "near"),
        ]
        let deliveries = deliveries(.with(.bandwidth(Self.rate), phases: phases, repeats: true))
        #expect(most(deliveries, in: 10_000_000) <= Self.share * 11 / 10)
        // Silent as the delay begins again, and not as it ends.
        #expect(gaps(deliveries).map { ($0 + 500) / 1_000 } == [4, 8])
    }

    @Test
    func `keeps what comes meanwhile in order, and its end behind it`() {
        let phases = [
            Phase.lasting(.milliseconds(4), .latency(.milliseconds(6)), name: "far"), .lasting(nil, name: "near"),
        ]
        #expect(timeline(of: .with(phases: phases), arrivals: "1--2-3---4|") == "------1--9|")
    }

    @Test
    func `has the spikes of the proxy's clock at the same time on all connections and in both directions`() {
        for seed in 1...3 as ClosedRange<UInt64> {
            var admitter = Admitter.of(.of([.bandwidth(Self.rate), spikes(.proxy)]), seed: seed)
            let (first, second) = (admitter.accept(at: .zero), admitter.accept(at: .milliseconds(1_234)))
            let expected = gaps(deliveries(first.downstream))
            #expect(gaps(deliveries(first.upstream)) == expected)
            var late = LinkSimulation(second.downstream, arrivals: [.init(at: .milliseconds(1_234), bytes: 1 << 40)])
            late.run(until: .seconds(10))
            let shared = gaps(late.deliveries).filter { $0 > 2_000 }
            #expect(zip(shared.reversed(), expected.reversed()).allSatisfy { abs($0 - $1) <= 1 })
            #expect(shared.count >= 3)
        }
        var admitter = Admitter.of(.of([.bandwidth(Self.rate), spikes()]))
        let own = admitter.accept(at: .zero)
        #expect(gaps(deliveries(own.upstream)) != gaps(deliveries(own.downstream)))
    }
}
