import FaultProfile
import SimulatedLink
import Testing
import Units

@testable import FaultPlan

@Suite("Latency")
struct LatencyTests {
    @Test
    func `delays every byte and the end alike`() {
        #expect(timeline(of: .with(.latency(.milliseconds(3))), arrivals: "1-2----|") == "---1-2----|")
        #expect(timeline(of: .with(.latency(.milliseconds(3))), arrivals: "(5|)") == "---(5|)")
        #expect(timeline(of: .with(.latency(.milliseconds(2))), arrivals: "1!") == "--1!")
    }

    @Test
    func `is a delay line and no gate, so a full pipe stays full`() {
        #expect(timeline(of: .with(.latency(.milliseconds(3))), arrivals: "11111111|") == "---11111111|")
    }

    @Test
    func `of zero changes nothing`() {
        #expect(timeline(of: .with(.latency(.zero)), arrivals: "1-2(3|)") == "1-2(3|)")
    }

    @Test
    func `adds up where there are two`() {
        let link = Link.with(.latency(.milliseconds(1)), .latency(.milliseconds(2), name: "second"))
        #expect(timeline(of: link, arrivals: "1-2|") == "---1-2|")
    }

    @Test
    func `of a phase that ends holds to what it has and keeps the order`() {
        let link = Link.with(phases: [.lasting(.milliseconds(4), .latency(.milliseconds(3)))])
        #expect(timeline(of: link, arrivals: "1--2-3-4|") == "---1--54|")
    }

    @Test
    func `of a phase that begins delays what comes from then on`() {
        let link = Link.with(phases: [
            .lasting(.milliseconds(2)), .lasting(nil, .latency(.milliseconds(3)), name: "later"),
        ])
        #expect(timeline(of: link, arrivals: "11111|") == "11---111|")
    }

    @Test
    func `beyond every clock never lets go, and overflows nothing`() {
        var pump = Pump(.with(.latency(.nanoseconds(Int64.max), jitter: .nanoseconds(Int64.max))), waiting: 5)
        pump.now = .seconds(10)
        pump.run(until: .seconds(1_000))
        #expect(pump.link.arrived == 5)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `acts once, and tells no offset because the clock decides`() {
        var pump = Pump(.with(.latency(.milliseconds(1))), waiting: 100_000)
        pump.readSize = 1_000
        pump.run(until: .seconds(1))
        #expect(pump.events == [FaultEvent(fault: 0, offset: nil, effect: .delays)])
    }

    @Test
    func `announces itself again in each of its phases`() {
        let link = Link.with(
            phases: [.lasting(.milliseconds(1), .latency(.zero)), .lasting(.milliseconds(1), name: "free")],
            repeats: true
        )
        var simulation = LinkSimulation(link, arrivals: Marbles.arrivals("11111|", tick: 1_000_000).list)
        simulation.run()
        #expect(simulation.events.map(\.effect) == [.delays, .delays, .delays])
    }
}

@Suite("When bytes came")
struct ArrivalTests {
    /// Has a link take `count` bytes that came at `arrival`, and asks when it wants to be asked again.
    private func wake(_ link: inout Link, _ count: Int64, came arrival: Moment, taken now: Moment) -> Moment {
        link.bytesArrived(count, at: arrival)
        return link.decide(available: 0, now: now).wake
    }

    @Test
    func `a delay counts from when bytes came, not from when they were taken`() {
        var link = Link.with(.latency(.milliseconds(10)))
        #expect(link.countsFromArrival)
        #expect(wake(&link, 5, came: .milliseconds(3), taken: .milliseconds(7)) == .milliseconds(13))
        #expect(link.decide(available: 0, now: .milliseconds(13)).writeOffset == 5)
    }

    @Test
    func `bytes that waited for longer than their delay leave at once, and never before others`() {
        var link = Link.with(.latency(.milliseconds(10)))
        #expect(wake(&link, 5, came: .milliseconds(9), taken: .milliseconds(10)) == .milliseconds(19))
        #expect(wake(&link, 5, came: .milliseconds(2), taken: .milliseconds(15)) == .milliseconds(19))
        link.bytesArrived(1, at: .milliseconds(16))
        #expect(link.decide(available: 0, now: .milliseconds(30)).writeOffset == 11)
    }

    @Test
    func `bytes don't come in the future, nor before their connection`() {
        var link = Link.with(.latency(.milliseconds(10)))
        #expect(wake(&link, 5, came: .milliseconds(-8), taken: .milliseconds(2)) == .milliseconds(10))
        link.bytesDelivered(0)
        #expect(link.decide(available: 0, now: .milliseconds(10)).writeOffset == 5)
        link.bytesDelivered(5)
        #expect(wake(&link, 5, came: .milliseconds(50), taken: .milliseconds(12)) == .milliseconds(22))
    }

    @Test
    func `what is told once isn't taken for what comes next`() {
        var link = Link.with(.latency(.milliseconds(10)))
        _ = wake(&link, 5, came: .milliseconds(3), taken: .milliseconds(7))
        #expect(link.decide(available: 0, now: .milliseconds(13)).writeOffset == 5)
        link.bytesDelivered(5)
        link.bytesArrived(5)
        #expect(link.decide(available: 0, now: .milliseconds(20)).wake == .milliseconds(30))
    }

    @Test
    func `bytes that a rate made wait come when it lets them pass`() {
        var link = Link.with(.bandwidth(bytesPerSecond: 1_000, burst: 10), .latency(.milliseconds(10)))
        // The first come into an open link, the others wait in front of it.
        #expect(link.decide(available: 0, now: .zero).readLimit == 0)
        #expect(link.decide(available: 20, now: .milliseconds(4)).readLimit == 10)
        link.bytesArrived(10, at: .milliseconds(2))
        let first = link.decide(available: 10, now: .milliseconds(4))
        #expect(first.readLimit == 0)
        let later = link.decide(available: 10, now: .milliseconds(9))
        #expect(later.readLimit == 5)
        #expect(wake(&link, 5, came: .milliseconds(2), taken: .milliseconds(9)) <= .milliseconds(14))
        #expect(link.decide(available: 5, now: .milliseconds(18)).writeOffset == 10)
        #expect(link.decide(available: 5, now: .milliseconds(19)).writeOffset == 15)
    }

    @Test
    func `bytes for which the link had no room come when it has`() {
        var admitter = Admitter.of(.of([.latency(.milliseconds(10))]), holdLimit: ByteCount(5))
        var link = admitter.accept(at: .zero).upstream
        _ = wake(&link, 5, came: .milliseconds(1), taken: .milliseconds(1))
        #expect(link.decide(available: Link.uncounted, now: .milliseconds(2)).readLimit == 0)
        #expect(link.decide(available: Link.uncounted, now: .milliseconds(11)).writeOffset == 5)
        link.bytesDelivered(5)
        #expect(link.decide(available: Link.uncounted, now: .milliseconds(12)).readLimit == 5)
        #expect(wake(&link, 5, came: .milliseconds(2), taken: .milliseconds(13)) == .milliseconds(22))
    }

    @Test
    func `bytes that came before anything was taken come then`() {
        var link = Link.with(.latency(.milliseconds(10)))
        link.begin(at: .milliseconds(5))
        #expect(wake(&link, 5, came: .milliseconds(1), taken: .milliseconds(6)) == .milliseconds(15))
    }

    @Test
    func `a cut far ahead makes no bytes wait`() {
        var link = Link.with(.cut(at: 1 << 30), .latency(.milliseconds(10)))
        #expect(link.decide(available: 0, now: .zero).readLimit == 0)
        #expect(link.decide(available: Link.uncounted, now: .milliseconds(7)).readLimit > 5)
        #expect(wake(&link, 5, came: .milliseconds(3), taken: .milliseconds(7)) == .milliseconds(13))
    }

    @Test
    func `of two delays the second counts from the end of the first`() {
        var link = Link.with(.latency(.milliseconds(10)), .latency(.milliseconds(10), name: "second"))
        #expect(wake(&link, 5, came: .milliseconds(3), taken: .milliseconds(7)) == .milliseconds(13))
        // What leaves the first together with news of others isn't as old as those.
        #expect(wake(&link, 5, came: .milliseconds(12), taken: .milliseconds(14)) == .milliseconds(22))
        #expect(link.decide(available: 0, now: .milliseconds(22)).wake == .milliseconds(24))
    }

    @Test(arguments: [Fault.latency(.zero), .bandwidth(bytesPerSecond: 1_000), .cut(at: 5)])
    func `nobody asks when bytes came for a fault that doesn't count from there`(_ fault: Fault) {
        #expect(!Link.with(fault).countsFromArrival)
    }
}

@Suite("A delay line under many stretches")
struct DelayLineTests {
    /// When each of `count` bytes, one every `gap` nanoseconds, left a delay line.
    private func departures(_ fault: Fault, count: Int64, gap: Int64) -> [(arrived: Int64, left: Int64)] {
        let arrivals = (0..<count).map { LinkSimulation.Arrival(at: Moment(nanoseconds: $0 * gap), bytes: 1) }
        var simulation = LinkSimulation(.with(fault), arrivals: arrivals)
        simulation.run()
        var result: [(Int64, Int64)] = []
        for delivery in simulation.deliveries {
            while result.count < delivery.offset {
                result.append((Int64(result.count) * gap, delivery.moment.nanoseconds))
            }
        }
        return result
    }

    @Test
    func `is exact to the nanosecond while few are in it`() {
        let bytes = departures(.latency(.milliseconds(10)), count: 4_000, gap: 1_000)
        #expect(bytes.count == 4_000)
        #expect(bytes.allSatisfy { $0.left - $0.arrived == 10_000_000 })
    }

    @Test
    func `is late by a 2,048th at most when more are in it than it can remember`() {
        let bytes = departures(.latency(.milliseconds(20)), count: 20_000, gap: 1_100)
        #expect(bytes.count == 20_000)
        #expect(bytes.allSatisfy { (20_000_000...20_000_000 + 20_000_000 / 2_048).contains($0.left - $0.arrived) })
    }

    @Test
    func `remembers no more than its limit whatever comes`() {
        var stage = LatencyStage(
            Latency(delay: .seconds(1), jitter: .seconds(9)),
            key: RandomKey(seed: 3),
            commonKey: RandomKey(seed: 3)
        )
        var last = StreamProgress(position: 0, availableEnd: 0, hasEnded: false)
        for index in 1...20_000 {
            let now = Moment(nanoseconds: Int64(index))
            var context = StageContext(last, now: now, arrival: now, delivered: 0, settled: 0)
            last = stage.advance(
                StreamProgress(position: Int64(index), availableEnd: Int64(index), hasEnded: false),
                &context
            )
        }
        #expect(last.position == 0)
        #expect(stage.count <= LatencyStage.intervalLimit)
        var context = StageContext(last, now: .seconds(20), arrival: .seconds(20), delivered: 0, settled: 0)
        let progress = StreamProgress(position: 20_000, availableEnd: 20_000, hasEnded: false)
        #expect(stage.advance(progress, &context).position == 20_000)
    }
}
