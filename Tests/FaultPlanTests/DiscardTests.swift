import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

@Suite("A discard")
struct DiscardTests {
    private func free(after time: Duration, _ fault: Fault) -> [Phase] {
        [.lasting(time, fault), .lasting(nil, name: "free")]
    }

    @Test func `passes the end of a stream and nothing before it`() {
        #expect(timeline(of: .with(.discard()), arrivals: "3-4-|") == "----|")
        #expect(timeline(of: .with(.discard()), arrivals: "3-4-!") == "----!")
    }

    @Test func `closes the connection when no byte has come for its time`() {
        let link = Link.with(.discard(closeAfter: .milliseconds(3)))
        #expect(timeline(of: link, arrivals: "3-2------") == "-----x---")
        #expect(timeline(of: link, arrivals: "---------") == "---x-----")
        #expect(timeline(of: link, arrivals: "1-1-1-1|-") == "-------|-", "the end ends the time")
    }

    @Test func `in silence closes the connection when that is over`() {
        let silence = Fault.outage(.silence).when(Condition(ageFrom: .milliseconds(2), ageUntil: .milliseconds(6)))
        let quiet = Link.with(silence, .discard(closeAfter: .milliseconds(3)))
        #expect(timeline(of: quiet, arrivals: "1--------") == "------x--")
        let hole = Link.with(silence, .discard().when(Condition(ageUntil: .milliseconds(4))))
        #expect(timeline(of: hole, arrivals: "1--------") == "------x--")
    }

    @Test func `that is gone before a silence has let it close, closes nothing`() {
        var live = LivePump(.outage(.silence), .discard(closeAfter: .milliseconds(3)))
        _ = live.run(4)
        #expect(live.pump.ended == nil)
        live.apply(.slowClose(.milliseconds(5)))
        live.pump.end = .finish
        _ = live.run(8)
        #expect(live.pump.ended == nil)
        _ = live.run(9)
        #expect(live.pump.ended == .finish)
    }

    @Test func `that goes off closes a connection with a hole, and no other`() {
        let link = Link.with(phases: free(after: .milliseconds(2), .discard()))
        #expect(timeline(of: link, arrivals: "3------") == "--x----")
        #expect(timeline(of: link, arrivals: "--3---|") == "--3---|")
    }

    @Test func `counts its time from where it comes on`() {
        let late = Fault.discard(closeAfter: .milliseconds(3)).when(Condition(ageFrom: .milliseconds(4)))
        #expect(timeline(of: .with(late), arrivals: "2--------") == "2------x-")
        #expect(timeline(of: .with(late), arrivals: "2----5---") == "2-------x")
    }

    @Test(arguments: [1, 7, 1 << 20] as [Int64])
    func `is journalled once, without an offset`(readSize: Int64) {
        var admitter = Admitter.of(.of([.discard(closeAfter: .milliseconds(1))]))
        var simulation = LinkSimulation(
            admitter.accept(at: .zero).downstream,
            arrivals: [.init(at: .zero, bytes: 100)],
            readSize: readSize
        )
        simulation.run()
        #expect(simulation.link.delivered == 0 && simulation.link.arrived == 0)
        #expect(
            simulation.events == [
                FaultEvent(fault: 0, offset: nil, effect: .discards),
                FaultEvent(fault: 0, offset: nil, effect: .cuts(.close)),
            ]
        )
    }

    @Test func `waits neither for a stuck sink nor for what other faults hold back`() {
        let others = [
            Fault.latency(.seconds(9)), .bandwidth(bytesPerSecond: 1), .outage(.silence),
            .stall(at: 0, for: .seconds(9)), .halfOpen(at: 0),
        ]
        for other in others {
            var live = LivePump(.of([other]), holdLimit: ByteCount(1_000))
            live.pump.sinkSize = 0
            live.pump.waiting = 5_000
            _ = live.run(1)
            live.apply(other, .discard(closeAfter: .milliseconds(5)))
            live.pump.waiting = 100_000
            #expect(live.run(2) == 0)
            #expect(live.pump.waiting == 0, "\(other.name)")
            #expect(live.run(50) == 0)
            let isSilent = other == .outage(.silence)
            #expect(live.pump.ended == (isSilent ? nil : .cut(.close)), "\(other.name)")
            #expect(live.pump.violations.isEmpty)
        }
    }

    @Test func `that is added passes what came before it`() {
        var live = LivePump(.latency(.milliseconds(10)), waiting: 100)
        #expect(live.run(1) == 0)
        live.apply(.latency(.milliseconds(10)), .discard())
        live.pump.waiting = 50
        #expect(live.run(30) == 100)
        #expect(live.pump.added == -50)
    }

    @Test func `that is removed or changed ends a connection that has lost bytes`() {
        var live = LivePump(waiting: 10)
        live.apply(.discard(), .stall(at: 99, for: .seconds(1)))
        #expect(loss(live, .of([])) == nil)
        #expect(live.run(1) == 0)
        let closes = FaultEvent(fault: 0, offset: nil, effect: .cuts(.close))
        #expect(loss(live, .of([])) == closes)
        #expect(loss(live, .of([.discard(closeAfter: .seconds(1))])) == closes)
        #expect(loss(live, .of([.discard()])) == nil, "it goes on")
        live.pump.end = .finish
        #expect(live.run(2) == 0)
        #expect(live.pump.ended == .finish)
        #expect(loss(live, .of([])) == nil, "the stream has ended")
    }

    @Test func `beside another one loses nothing, and keeps its time`() {
        var live = LivePump(.discard(name: "a"), .discard(closeAfter: .milliseconds(5), name: "b"), waiting: 10)
        #expect(live.run(3) == 0)
        #expect(loss(live, .of([.discard(name: "a")])) == nil)
        live.pump.waiting = 10
        _ = live.run(7)
        #expect(live.pump.ended == nil, "the bytes have come for both")
        _ = live.run(8)
        #expect(live.pump.ended == .cut(.close))
    }

    /// The event with which a change to `profile` closes the link.
    private func loss(_ live: LivePump, _ profile: Profile) -> FaultEvent? {
        var admitter = live.admitter
        return live.pump.link.loss(endedBy: admitter.apply(profile))
    }
}
