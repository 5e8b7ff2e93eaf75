import SimulatedLink
import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A trace")
struct TraceTests {
    private static let constant = Array(1...12) as [UInt32]

    private func fault(_ opportunities: [UInt32], queue: Int64 = 256 << 10) -> Fault {
        Fault(
            name: "trace",
            kind: .trace(Trace(file: "test", opportunities: opportunities, queue: ByteCount(queue)))
        )
    }

    @Test(arguments: [1_500, 3_000, 64 << 10, 8 << 20] as [Int64], [0, 1, 30] as [Int64])
    func `of 12 Mbit/s passes 12 Mbit/s, whatever the queue and however late it is asked`(
        queue: Int64,
        lateness: Int64
    ) {
        var pump = Pump(.with(fault(Self.constant, queue: queue)), waiting: nil)
        pump.run(until: .seconds(10), lateness: lateness * 1_000_000)
        let megabits = Double(pump.link.delivered) * 8 / 10 / 1e6
        #expect(abs(megabits - 12) < 0.02)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `lets up to 1,500 bytes out at each of its times, and starts over at its end`() {
        let link = Link.with(fault([0, 2, 2, 5]))
        var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 12_000)])
        simulation.run()
        let steps = simulation.lastOfEachMoment.map { [$0.moment.nanoseconds / 1_000_000, $0.offset] }
        // The last of a round and the first of the next one fall together.
        #expect(steps == [[0, 1_500], [2, 4_500], [5, 7_500], [7, 10_500], [10, 12_000]])
    }

    @Test
    func `shares an opportunity between small messages, and loses what nobody uses`() {
        let link = Link.with(fault([4]))
        let arrivals: [LinkSimulation.Arrival] = [
            .init(at: .milliseconds(1), bytes: 100), .init(at: .milliseconds(3), bytes: 200),
            // Those of 8, 12 and 16 ms are gone when this one comes.
            .init(at: .milliseconds(17), bytes: 2_000, end: .finish),
        ]
        var simulation = LinkSimulation(link, arrivals: arrivals)
        simulation.run()
        let steps = simulation.lastOfEachMoment.map { [$0.moment.nanoseconds / 1_000_000, $0.offset] }
        #expect(steps == [[4, 300], [20, 1_800], [24, 2_300]])
        #expect(simulation.deliveries.last?.end == .finish)
    }

    @Test
    func `is good for what comes at the very moment of an opportunity`() {
        let arrivals = [2, 2, 3].map { LinkSimulation.Arrival(at: .milliseconds($0), bytes: 700) }
        var simulation = LinkSimulation(.with(fault([2])), arrivals: arrivals)
        simulation.run()
        let steps = simulation.lastOfEachMoment.map { [$0.moment.nanoseconds / 1_000_000, $0.offset] }
        #expect(steps == [[2, 1_400], [4, 2_100]])
    }

    @Test(arguments: [30_000, 300_000] as [Int64])
    func `makes a byte wait for the queue in front of it, and the sender when the queue is full`(queue: Int64) {
        var pump = Pump(.with(fault(Self.constant, queue: queue)), waiting: nil)
        pump.run(until: .milliseconds(2_000))
        #expect(pump.link.held <= queue)
        #expect(pump.link.held >= queue - 1_500)
        // What is taken in now leaves when the queue in front of it has: that is the bloat.
        let mark = pump.link.arrived
        while pump.link.delivered < mark { pump.run(until: pump.now.advanced(byNanoseconds: 1_000_000)) }
        let waited = (pump.now - .milliseconds(2_000)).nanoseconds / 1_000_000
        #expect(abs(waited - queue / 1_500) <= 1)
    }

    @Test
    func `delays what comes by itself no longer than to the next opportunity`() {
        let arrivals = (0..<100).map {
            LinkSimulation.Arrival(at: Moment(nanoseconds: $0 * 7_300_000 + 100), bytes: 100)
        }
        var simulation = LinkSimulation(.with(fault(Self.constant)), arrivals: arrivals)
        simulation.run()
        #expect(simulation.deliveries.count == 100)
        for (delivery, arrival) in zip(simulation.deliveries, arrivals) {
            #expect((delivery.moment - arrival.moment).nanoseconds < 1_000_000)
        }
    }

    @Test(arguments: [700, 1_460, 1 << 20] as [Int64])
    func `passes the same whatever the sizes of reads`(readSize: Int64) {
        let arrivals = (0..<200).map {
            LinkSimulation.Arrival(at: Moment(nanoseconds: $0 * 3_333_333), bytes: 7_000)
        }
        func run(_ readSize: Int64) -> [LinkSimulation.Delivery] {
            let link = Link.with(fault([1, 1, 2, 3, 9, 9, 20]), .latency(.milliseconds(3)))
            var simulation = LinkSimulation(link, arrivals: arrivals, readSize: readSize)
            simulation.run()
            return simulation.lastOfEachMoment
        }
        #expect(run(readSize) == run(1 << 30))
    }

    @Test
    func `runs on the clock of the connection`() {
        var admitter = Admitter.of(.of([fault([10])]))
        let opened = Moment.milliseconds(7)
        var simulation = LinkSimulation(admitter.accept(at: opened).upstream, arrivals: [.init(at: opened, bytes: 5)])
        simulation.run()
        #expect(simulation.now == .milliseconds(17))
    }

    @Test
    func `of a phase holds in it, and lets everything go behind it`() {
        let phases = [Phase.lasting(.milliseconds(10), fault([4])), .lasting(nil, name: "free")]
        var simulation = LinkSimulation(.with(phases: phases), arrivals: [.init(at: .zero, bytes: 9_000)])
        simulation.run()
        let steps = simulation.lastOfEachMoment.map { [$0.moment.nanoseconds / 1_000_000, $0.offset] }
        #expect(steps == [[4, 1_500], [8, 3_000], [10, 9_000]])
        #expect(simulation.events == [FaultEvent(fault: 0, offset: nil, effect: .limits)])
    }

    @Test
    func `behind another one takes in no more than the slower lets out and both hold`() {
        let slow = Fault(name: "slow", kind: .trace(Trace(file: "", opportunities: [10], queue: ByteCount(3_000))))
        var pump = Pump(.with(fault(Self.constant, queue: 6_000), slow), waiting: nil)
        pump.run(until: .seconds(10))
        #expect(abs(pump.link.delivered - 1_500_000) <= 1_500)
        #expect(pump.link.held <= 9_000)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `counts the opportunities of years without a step for each`() {
        let stage = TraceStage(Trace(file: "", opportunities: [3, 5, 5, 8]))
        let year: Int64 = 31_536_000_000_000_000
        #expect(stage.count(before: 0) == 0)
        #expect(stage.count(before: 3_000_000) == 0)
        #expect(stage.count(before: 3_000_001) == 1)
        #expect(stage.count(before: 8_000_001) == 4)
        #expect(stage.count(before: 100 * year) == 100 * year / 2_000_000 - 1)
        #expect(stage.next(after: -1) == 3_000_000)
        #expect(stage.next(after: 3_000_000) == 5_000_000)
        #expect(stage.next(after: 8_000_000) == 11_000_000)
        #expect(stage.next(after: 100 * year) == 100 * year + 3_000_000)
        #expect(stage.next(after: .max) == .max)
    }
}
