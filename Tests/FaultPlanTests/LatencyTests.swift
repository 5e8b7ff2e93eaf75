import FaultProfile
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
    func `strikes once, and tells no offset because the clock decides`() {
        var pump = Pump(.with(.latency(.milliseconds(1))), waiting: 100_000)
        pump.readSize = 1_000
        pump.run(until: .seconds(1))
        #expect(pump.strikes == [Strike(fault: 0, offset: nil, effect: .delays)])
    }

    @Test
    func `announces itself again in each of its phases`() {
        let link = Link.with(
            phases: [.lasting(.milliseconds(1), .latency(.zero)), .lasting(.milliseconds(1), name: "free")],
            repeats: true
        )
        var simulation = LinkSimulation(link, arrivals: Marbles.arrivals("11111|", tick: 1_000_000).list)
        simulation.run()
        #expect(simulation.strikes.map(\.effect) == [.delays, .delays, .delays])
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
        var stage = LatencyStage(Latency(delay: .seconds(1), jitter: .seconds(9)), key: RandomKey(seed: 3))
        var last = Reach(position: 0, horizon: 0, hasEnded: false)
        for index in 1...20_000 {
            var visit = Visit(now: Moment(nanoseconds: Int64(index)), delivered: 0, settled: 0)
            last = stage.advance(Reach(position: Int64(index), horizon: Int64(index), hasEnded: false), &visit)
        }
        #expect(last.position == 0)
        #expect(stage.count <= LatencyStage.stretchLimit)
        var visit = Visit(now: .seconds(20), delivered: 0, settled: 0)
        let reach = Reach(position: 20_000, horizon: 20_000, hasEnded: false)
        #expect(stage.advance(reach, &visit).position == 20_000)
    }
}
