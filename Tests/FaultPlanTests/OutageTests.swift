import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

@Suite("An outage by silence")
struct SilenceTests {
    private let gone = [
        Phase.lasting(.milliseconds(3)), .lasting(.milliseconds(4), .outage(.silence), name: "gone"),
    ]

    @Test
    func `lets nothing pass, and everything when it is over`() {
        #expect(timeline(of: .with(phases: gone), arrivals: "11111111|") == "111----5|")
    }

    @Test
    func `holds what is in flight`() {
        let link = Link.with(.latency(.milliseconds(2)), phases: gone)
        #expect(timeline(of: link, arrivals: "111111111|") == "--1----2-51|")
    }

    @Test
    func `holds the end`() {
        #expect(timeline(of: .with(phases: gone), arrivals: "1---|") == "1------|")
        let late = Link.with(.latency(.milliseconds(2)), phases: gone)
        #expect(timeline(of: late, arrivals: "1-(1|)") == "--1----(1|)")
    }

    @Test
    func `holds a cut`() {
        let link = Link.with(.latency(.milliseconds(2)), .cut(at: 2), phases: gone)
        #expect(timeline(of: link, arrivals: "1-4----") == "--1----(1X)")
    }

    @Test
    func `reads nothing, so no backlog builds up`() {
        for faults in [[], [Fault.latency(.milliseconds(1))], [.bandwidth(bytesPerSecond: 1_000_000)]] {
            var admitter = Admitter.of(.of(faults + [.outage(.silence)]))
            var pump = Pump(admitter.accept(at: .zero).upstream, waiting: nil)
            pump.run(until: .seconds(10))
            #expect(pump.link.arrived == 0)
            #expect(pump.violations.isEmpty)
            #expect(pump.decisions < 10)
        }
    }

    @Test
    func `outside all phases lasts for ever`() {
        #expect(
            timeline(of: .with(.outage(.silence)), arrivals: "1---|", ticks: 100) == String(repeating: "-", count: 100)
        )
    }

    @Test
    func `acts when something wants through, once for each of its phases, and tells no offset`() {
        let link = Link.with(phases: gone, repeats: true)
        var simulation = LinkSimulation(
            link,
            arrivals: [
                .init(at: .milliseconds(1), bytes: 5), .init(at: .milliseconds(4), bytes: 5),
                .init(at: .milliseconds(5), bytes: 5), .init(at: .milliseconds(8), bytes: 5),
                .init(at: .milliseconds(12), bytes: 5, end: .finish),
            ]
        )
        simulation.run()
        #expect(
            simulation.events == [
                FaultEvent(fault: 0, offset: nil, effect: .silences),
                FaultEvent(fault: 0, offset: nil, effect: .silences),
            ]
        )
    }

    @Test
    func `of one stream leaves the other alone`() {
        var admitter = Admitter.of(.of([.outage(.silence).on(.upstream)]))
        let connection = admitter.accept(at: .zero)
        #expect(timeline(of: connection.upstream, arrivals: "1|", ticks: 9) == "---------")
        #expect(timeline(of: connection.downstream, arrivals: "1|") == "1|")
    }

    @Test
    func `for an age of the connection begins and ends with it`() {
        let condition = Condition(ageFrom: .milliseconds(1), ageUntil: .milliseconds(4))
        #expect(timeline(of: .with(.outage(.silence).when(condition)), arrivals: "111111|") == "1---41|")
    }

    @Test
    func `of two that overlap ends with the later`() {
        let early = Fault.outage(.silence, name: "early").when(Condition(ageUntil: .milliseconds(3)))
        let late = Fault.outage(.silence, name: "late")
            .when(Condition(ageFrom: .milliseconds(2), ageUntil: .milliseconds(5)))
        #expect(timeline(of: .with(early, late), arrivals: "111111|") == "-----6|")
    }
}

@Suite("An outage by refusal or reset")
struct InterruptionTests {
    private func plan(_ how: Outage.Mode, condition: Condition = Condition()) -> Plan {
        let phases = [
            Phase.lasting(.seconds(2), name: "here"),
            .lasting(.seconds(3), Fault.outage(how).when(condition), name: "gone"),
            .lasting(.seconds(5), name: "back"),
        ]
        return .of(.of([], phases: phases, repeats: true))
    }

    @Test(arguments: [Outage.Mode.refuse, .reset])
    func `resets live connections for as long as its phase lasts`(how: Outage.Mode) {
        var admitter = Admitter(plan(how))
        let connection = admitter.accept(at: .seconds(1))
        #expect(connection.faults.terminators.arePossible)
        #expect(connection.faults.terminators.event(at: .milliseconds(1_999), lastPassed: .zero)?.event == nil)
        let event = FaultEvent(fault: 0, offset: nil, effect: .resets)
        #expect(connection.faults.terminators.event(at: .seconds(2), lastPassed: .zero)?.event == event)
        #expect(connection.faults.terminators.event(at: .milliseconds(4_999), lastPassed: .zero)?.event == event)
        #expect(connection.faults.terminators.event(at: .seconds(5), lastPassed: .zero)?.event == nil)
        #expect(connection.faults.terminators.event(at: .seconds(12), lastPassed: .zero)?.event == event)
        #expect(connection.upstream.isTransparent && connection.downstream.isTransparent)
    }

    @Test
    func `says when to ask again`() {
        var admitter = Admitter(plan(.reset))
        let connection = admitter.accept(at: .seconds(1))
        #expect(connection.faults.terminators.nextChange(after: .seconds(1), lastPassed: .zero) == .seconds(2))
        #expect(connection.faults.terminators.nextChange(after: .seconds(2), lastPassed: .zero) == .seconds(5))
        #expect(connection.faults.terminators.nextChange(after: .seconds(5), lastPassed: .zero) == .seconds(10))
    }

    @Test
    func `never touches a connection of a plan without one`() {
        var admitter = Admitter.of(.of([.cut(at: 5), .outage(.silence)]))
        let connection = admitter.accept(at: .zero)
        #expect(!connection.faults.terminators.arePossible)
        #expect(connection.faults.terminators.event(at: .seconds(1), lastPassed: .zero)?.event == nil)
        #expect(connection.faults.terminators.nextChange(after: .zero, lastPassed: .zero) == .distantFuture)
    }

    @Test
    func `can wait for an age of the connection, and ends with it for good`() {
        let condition = Condition(ageFrom: .seconds(2), ageUntil: .seconds(3))
        var admitter = Admitter.of(.of([.outage(.reset).when(condition)]))
        let connection = admitter.accept(at: .seconds(10))
        #expect(connection.faults.terminators.nextChange(after: .seconds(10), lastPassed: .zero) == .seconds(12))
        #expect(connection.faults.terminators.event(at: .milliseconds(11_999), lastPassed: .zero)?.event == nil)
        #expect(connection.faults.terminators.event(at: .seconds(12), lastPassed: .zero)?.event != nil)
        #expect(connection.faults.terminators.nextChange(after: .seconds(12), lastPassed: .zero) == .seconds(13))
        #expect(connection.faults.terminators.event(at: .seconds(13), lastPassed: .zero)?.event == nil)
        #expect(connection.faults.terminators.nextChange(after: .seconds(13), lastPassed: .zero) == .distantFuture)
    }

    @Test
    func `that refuses everybody is known before a connection is accepted`() {
        let plan = plan(.refuse)
        #expect(plan.admission(at: .seconds(1)) == (.open, .seconds(2)))
        #expect(plan.admission(at: .seconds(2)).admission == .refused(fault: 0))
        #expect(plan.admission(at: .seconds(4)).until == .seconds(5))
        #expect(plan.admission(at: .seconds(5)).admission == .open)
        #expect(plan.admission(at: .seconds(14)).admission == .refused(fault: 0))
    }

    @Test
    func `that resets or hits only some refuses nobody`() {
        for plan in [plan(.reset), plan(.silence), plan(.refuse, condition: Condition(connections: .every(2)))] {
            #expect(plan.admission(at: .seconds(3)) == (.open, .distantFuture))
        }
    }

    @Test
    func `of refusal outside all phases refuses for ever`() {
        let plan = Plan.of(.of([.cut(at: 1), .outage(.refuse)]))
        #expect(plan.admission(at: .seconds(1)) == (.refused(fault: 1), .distantFuture))
    }
}
