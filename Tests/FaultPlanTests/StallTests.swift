import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

@Suite("A stall")
struct StallTests {
    @Test
    func `lets the bytes before its offset pass, and the next one wait exactly so long`() {
        let link = Link.with(.stall(at: 3, for: .milliseconds(4)))
        #expect(timeline(of: link, arrivals: "9-------|") == "3---6---|")
        #expect(timeline(of: link, arrivals: "12-11111|") == "12-----5|")
    }

    @Test
    func `begins when the byte at its offset wants through, not when the one before has`() {
        let link = Link.with(.stall(at: 3, for: .milliseconds(2)))
        #expect(timeline(of: link, arrivals: "3----1-|") == "3------(1|)")
    }

    @Test
    func `at zero makes the first byte wait`() {
        #expect(timeline(of: .with(.stall(at: 0, for: .milliseconds(3))), arrivals: "-1--|") == "----(1|)")
    }

    @Test
    func `at the end of the stream makes the end wait`() {
        #expect(timeline(of: .with(.stall(at: 3, for: .milliseconds(3))), arrivals: "3-|") == "3----|")
        #expect(timeline(of: .with(.stall(at: 0, for: .milliseconds(3))), arrivals: "-|") == "----|")
    }

    @Test
    func `beyond the end of the stream never happens`() {
        var simulation = LinkSimulation(
            .with(.stall(at: 4, for: .seconds(1))),
            arrivals: [.init(at: .zero, bytes: 3, end: .finish)]
        )
        simulation.run()
        #expect(simulation.now == .zero)
        #expect(simulation.events.isEmpty)
    }

    @Test
    func `happens once`() {
        let link = Link.with(.stall(at: 1, for: .milliseconds(2)))
        #expect(timeline(of: link, arrivals: "2-----3--|") == "1-1---3--|")
    }

    @Test
    func `of two at different offsets happens twice`() {
        let link = Link.with(.stall(at: 3, for: .milliseconds(2)), .stall(at: 1, for: .milliseconds(3), name: "first"))
        #expect(timeline(of: link, arrivals: "9|") == "1--2-(6|)")
    }

    @Test
    func `reads nothing beyond its offset, so the source feels it`() {
        var pump = Pump(.with(.stall(at: 100, for: .seconds(1))), waiting: nil)
        pump.run(until: .milliseconds(999))
        #expect(pump.link.arrived == 100)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `tells its offset, whatever the reads were`() {
        for readSize in [1, 7, 1_000] as [Int64] {
            for faults in [
                [Fault.stall(at: 50, for: .seconds(1))], [.latency(.seconds(1)), .stall(at: 50, for: .seconds(1))],
            ] {
                var admitter = Admitter.of(.of(faults))
                var simulation = LinkSimulation(
                    admitter.accept(at: .zero).upstream,
                    arrivals: [.init(at: .zero, bytes: 100)],
                    readSize: readSize
                )
                simulation.run()
                let stall = FaultEvent(fault: faults.count - 1, offset: 50, effect: .stalls)
                #expect(simulation.events.contains(stall))
                #expect(simulation.link.delivered == 100)
            }
        }
    }

    @Test
    func `is no longer for a latency, which delays what comes after it alike`() {
        let link = Link.with(.latency(.milliseconds(3)), .stall(at: 2, for: .milliseconds(4)))
        #expect(timeline(of: link, arrivals: "9|") == "---2---(7|)")
    }

    @Test
    func `lends no rate to what comes after it`() {
        let link = Link.with(.bandwidth(bytesPerSecond: 1_000), .stall(at: 2, for: .milliseconds(4)))
        #expect(timeline(of: link, arrivals: "5---------|") == "--2------3|")
    }

    @Test
    func `cannot be hidden by a sink that is stuck`() {
        var pump = Pump(.with(.stall(at: 5, for: .seconds(1))), waiting: 9)
        pump.sinkSize = 0
        pump.run(until: .seconds(10))
        pump.sinkSize = .max
        pump.run(until: Moment(nanoseconds: 10_999_999_999))
        #expect(pump.link.delivered == 5)
        pump.run(until: .seconds(11))
        #expect(pump.link.delivered == 9)
    }

    @Test
    func `ends with its phase, and is over when the phase comes back`() {
        let phases = [
            Phase.lasting(.milliseconds(3), .stall(at: 1, for: .seconds(9))), .lasting(.milliseconds(2), name: "free"),
        ]
        #expect(timeline(of: .with(phases: phases, repeats: true), arrivals: "2---11--|") == "1--111--|")
    }

    @Test
    func `in a phase is missed when its offset has passed before`() {
        let phases = [
            Phase.lasting(.milliseconds(2)), .lasting(nil, .stall(at: 3, for: .milliseconds(2)), name: "late"),
        ]
        #expect(timeline(of: .with(phases: phases), arrivals: "4-4|") == "4-4|")
        #expect(timeline(of: .with(phases: phases), arrivals: "2-4|") == "2-1-(3|)")
    }

    @Test
    func `at the offset of a cut comes before it`() {
        let link = Link.with(.cut(at: 2), .stall(at: 2, for: .milliseconds(3)))
        #expect(timeline(of: link, arrivals: "9----") == "2--X-")
    }

    @Test
    func `for ever holds the stream for ever`() {
        var pump = Pump(.with(.stall(at: 2, for: .nanoseconds(Int64.max))), waiting: nil)
        pump.now = .seconds(5)
        pump.run(until: .seconds(1_000_000))
        #expect(pump.link.delivered == 2)
        #expect(pump.decisions < 20)
    }
}
