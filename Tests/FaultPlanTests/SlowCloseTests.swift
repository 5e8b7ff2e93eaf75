import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

@Suite("A slow close")
struct SlowCloseTests {
    @Test
    func `has the end come as much later than the last byte, and no byte late`() {
        #expect(timeline(of: .with(.slowClose(.milliseconds(4))), arrivals: "3-5|") == "3-5----|")
        #expect(timeline(of: .with(.slowClose(.milliseconds(2))), arrivals: "(3|)") == "3-|")
        #expect(timeline(of: .with(.slowClose(.milliseconds(2))), arrivals: "|") == "--|")
    }

    @Test
    func `has a reset come late as well, and a cut`() {
        #expect(timeline(of: .with(.slowClose(.milliseconds(3))), arrivals: "3!") == "3---!")
        #expect(timeline(of: .with(.slowClose(.milliseconds(3)), .cut(at: 2)), arrivals: "9") == "2--X")
        #expect(timeline(of: .with(.slowClose(.milliseconds(3)), .cut(at: 2, .close)), arrivals: "9") == "2--x")
    }

    @Test
    func `counts from the last byte behind a delay`() {
        let link = Link.with(.slowClose(.milliseconds(3)), .latency(.milliseconds(2)))
        #expect(timeline(of: link, arrivals: "1(2|)") == "--12--|")
    }

    @Test
    func `of two one waits behind the other`() {
        let link = Link.with(.slowClose(.milliseconds(3)), .slowClose(.milliseconds(1), name: "other"))
        #expect(timeline(of: link, arrivals: "1|") == "1----|")
    }

    @Test
    func `waits for a sink that is slow to take the last byte`() {
        var pump = Pump(.with(.slowClose(.seconds(2))), waiting: 5)
        pump.end = .finish
        pump.sinkSize = 0
        pump.run(until: .seconds(10))
        #expect(pump.ended == nil)
        pump.sinkSize = .max
        pump.run(until: .milliseconds(11_999))
        #expect(pump.link.delivered == 5 && pump.ended == nil)
        pump.run(until: .seconds(12))
        #expect(pump.ended == .finish)
    }

    @Test
    func `lets the end go when its phase is over`() {
        let phases = [
            Phase.lasting(.milliseconds(3), .slowClose(.seconds(9))), .lasting(nil, name: "free"),
        ]
        #expect(timeline(of: .with(phases: phases), arrivals: "2|") == "2--|")
        #expect(timeline(of: .with(phases: phases), arrivals: "2---|") == "2---|")
    }

    @Test
    func `tells of it once, without an offset`() {
        var simulation = LinkSimulation(
            .with(.slowClose(.seconds(1))),
            arrivals: [.init(at: .zero, bytes: 3), .init(at: .seconds(1), bytes: 4, end: .finish)]
        )
        simulation.run()
        #expect(simulation.events == [FaultEvent(fault: 0, offset: nil, effect: .closesLate)])
        #expect(simulation.now == .seconds(2))
    }
}
