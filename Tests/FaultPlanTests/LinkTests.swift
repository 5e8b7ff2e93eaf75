import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A link")
struct LinkTests {
    @Test
    func `without faults lets everything pass at once`() {
        #expect(timeline(of: .with(), arrivals: "1-2-(3|)") == "1-2-(3|)")
        #expect(Link.with().isTransparent)
        #expect(!Link.with(.cut(at: 1)).isTransparent)
    }

    @Test(arguments: [[], [Fault.latency(.zero)], [Fault.bandwidth(bytesPerSecond: 9_000)]])
    func `passes a reset of its source on, behind the last byte`(faults: [Fault]) {
        var admitter = Admitter.of(.of(faults))
        var pump = Pump(admitter.accept(at: .zero).downstream, waiting: 7)
        pump.end = .reset
        pump.run(until: .seconds(1))
        #expect(pump.ended == .reset)
        #expect(pump.link.delivered == 7)
    }

    @Test
    func `ends once, and asks for nothing afterwards`() {
        for fault in [Fault.latency(.milliseconds(1)), .cut(at: 3), .stall(at: 2, for: .milliseconds(1))] {
            let silence = Phase.lasting(.milliseconds(50), .outage(.silence))
            let link = Link.with(fault, phases: [.lasting(.milliseconds(50)), silence], repeats: true)
            var pump = Pump(link, waiting: 3)
            pump.end = .finish
            pump.run(until: .seconds(1))
            #expect(pump.ended != nil)
            var ended = pump.link
            let decision = ended.decide(available: 5, now: .seconds(2))
            #expect(decision == Decision(readLimit: 0, writeOffset: 3, end: nil, wake: .distantFuture))
        }
    }

    @Test
    func `takes a cache line at most, beside what its faults need`() {
        #expect(MemoryLayout<Link>.stride <= 64)
        #expect(MemoryLayout<Stage>.size <= 64)
    }

    @Test
    func `is a value: what one copy comes to, another doesn't`() {
        let link = Link.with(
            .latency(.milliseconds(1)),
            .bandwidth(bytesPerSecond: 1_000),
            .stall(at: 3, for: .seconds(1))
        )
        var pump = Pump(link, waiting: 5)
        pump.run(until: .milliseconds(500))
        #expect(link.arrived == 0)
        var again = Pump(link, waiting: 5)
        again.run(until: .milliseconds(500))
        #expect(pump.link.delivered == 3)
        #expect(again.link.arrived == pump.link.arrived)
        #expect(again.link.delivered == pump.link.delivered)
    }

    @Test
    func `hands its end out only when the sink has every byte`() {
        var link = Link.with()
        link.bytesArrived(4)
        link.sourceEnded(.finish)
        #expect(link.decide(available: 0, now: .zero).end == nil)
        link.bytesDelivered(3)
        #expect(link.decide(available: 0, now: .zero).end == nil)
        link.bytesDelivered(1)
        #expect(link.decide(available: 0, now: .zero).end == .finish)
    }

    @Test
    func `keeps the first end that it is told`() {
        var link = Link.with(.latency(.zero))
        link.sourceEnded(.reset)
        link.sourceEnded(.finish)
        #expect(link.sourceEnd == .reset)
    }

    @Test
    func `reads nothing after the end of its source`() {
        var link = Link.with(.latency(.seconds(1)))
        link.bytesArrived(1)
        link.sourceEnded(.finish)
        #expect(link.decide(available: 100, now: .zero).readLimit == 0)
    }

    @Test
    func `takes no more than its hold limit while the sink is stuck`() {
        let profiles: [[Fault]] = [
            [], [.latency(.milliseconds(5))], [.bandwidth(bytesPerSecond: 1 << 30)], [.cut(at: 1 << 30)],
            [.stall(at: 1 << 30, for: .seconds(1))],
        ]
        for faults in profiles {
            var admitter = Admitter.of(.of(faults), holdLimit: .kibibytes(64))
            var pump = Pump(admitter.accept(at: .zero).upstream, waiting: nil, holdLimit: .kibibytes(64))
            pump.sinkSize = 0
            pump.run(until: .seconds(1))
            #expect(pump.link.arrived == 64 << 10)
            #expect(pump.link.delivered == 0)
            #expect(pump.violations.isEmpty)
        }
    }

    @Test
    func `goes on where it was when a stuck sink takes bytes again`() {
        var admitter = Admitter.of(.of([.latency(.milliseconds(5))]), holdLimit: ByteCount(100))
        var pump = Pump(admitter.accept(at: .zero).upstream, waiting: 250, holdLimit: ByteCount(100))
        pump.end = .finish
        pump.sinkSize = 0
        pump.run(until: .seconds(1))
        pump.sinkSize = 7
        pump.run(until: .seconds(2))
        #expect(pump.ended == .finish)
        #expect(pump.link.delivered == 250)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `holds at least one byte, or nothing would ever pass`() {
        var admitter = Admitter.of(.of([]), holdLimit: .zero)
        var pump = Pump(admitter.accept(at: .zero).upstream, waiting: 5, holdLimit: ByteCount(1))
        pump.end = .finish
        pump.run(until: .seconds(1))
        #expect(pump.link.delivered == 5)
    }

    @Test
    func `wants bytes counted for a fault that must know whether some wait`() {
        #expect(!Link.with().measuresAvailability)
        #expect(!Link.with(.latency(.zero), .cut(at: 1)).measuresAvailability)
        #expect(Link.with(.cut(at: 1), .bandwidth(bytesPerSecond: 1)).measuresAvailability)
        #expect(Link.with(.bandwidth(bytesPerSecond: 1, scope: .proxy)).measuresAvailability)
        #expect(Link.with(.stall(at: 1, for: .seconds(1))).measuresAvailability)
        #expect(Link.with(.outage(.silence)).measuresAvailability)
    }

    @Test
    func `survives the largest count that can be told`() {
        for fault in [Fault.latency(.zero), .cut(at: .max), .stall(at: .max, for: .seconds(1)), .outage(.silence)] {
            var link = Link.with(fault)
            link.bytesArrived(5)
            let decision = link.decide(available: .max, now: Moment(nanoseconds: .max - 1))
            #expect(decision.readLimit >= 0)
            #expect(decision.writeOffset <= 5)
        }
    }

    @Test
    func `hands a fault event out once`() {
        var link = Link.with(.stall(at: 0, for: .seconds(1)))
        _ = link.decide(available: 1, now: .zero)
        #expect(link.takeEvents().count == 1)
        _ = link.decide(available: 1, now: .zero)
        #expect(link.takeEvents().isEmpty)
    }
}
