import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

@Suite("A cut by a limit")
struct CutByLimitTests {
    private func limit(_ bytes: Int64, _ how: Cut.Ending = .reset, name: String = "limit") -> Fault {
        .cut(.limit(ByteCount(bytes)), how, name: name)
    }

    @Test(arguments: [1, 3, 1_460, 1 << 20] as [Int64])
    func `ends a new connection when the count reaches it, however the bytes are read`(readSize: Int64) {
        for bytes in [999, 1_000, 5_000] as [Int64] {
            var admitter = Admitter.of(.of([limit(1_000, .close)]))
            var simulation = LinkSimulation(
                admitter.accept(at: .zero).downstream,
                arrivals: [.init(at: .zero, bytes: bytes)],
                readSize: readSize
            )
            simulation.run()
            #expect(simulation.link.delivered == min(bytes, 1_000))
            let isCut = bytes >= 1_000
            #expect(simulation.deliveries.last?.end == (isCut ? .cut(.close) : nil))
            #expect(simulation.events == (isCut ? [FaultEvent(fault: 0, offset: 1_000, effect: .cuts(.close))] : []))
        }
    }

    @Test func `of zero waits for a byte or the end, and passes nothing`() {
        #expect(timeline(of: .with(limit(0)), arrivals: "--9|", ticks: 4) == "--X-")
        #expect(timeline(of: .with(limit(0, .close)), arrivals: "--|", ticks: 4) == "--x-")
        #expect(timeline(of: .with(limit(0)), arrivals: "----", ticks: 4) == "----")
    }

    @Test func `counts on a live connection from where it was added`() {
        var live = LivePump(waiting: 1_000)
        #expect(live.run(1) == 1_000)
        live.apply(limit(500))
        #expect(live.run(2) == 1_000)
        #expect(live.pump.ended == nil)
        live.pump.waiting = 600
        #expect(live.run(3) == 1_500)
        #expect(live.pump.ended == .cut(.reset))
        #expect(live.pump.events.map(\.offset) == [1_500])
    }

    @Test func `of zero lets a live connection be until more comes`() {
        var live = LivePump(waiting: 1_000)
        #expect(live.run(1) == 1_000)
        live.apply(limit(0))
        #expect(live.run(5) == 1_000)
        #expect(live.pump.ended == nil)
        live.pump.waiting = 1
        #expect(live.run(6) == 1_000)
        #expect(live.pump.ended == .cut(.reset))
    }

    @Test func `with another number goes on counting from where it began`() {
        var live = LivePump(waiting: 100)
        #expect(live.run(1) == 100)
        live.apply(limit(500))
        live.pump.waiting = 300
        #expect(live.run(2) == 400)
        live.apply(limit(400))
        live.apply(.latency(.zero), limit(350, .close))
        live.pump.waiting = 300
        #expect(live.run(3) == 450, "350 after the first 100")
        #expect(live.pump.ended == .cut(.close))
    }

    @Test(arguments: [0, 1, 299, 300] as [Int64])
    func `that is passed already by its new number ends the connection at once`(bytes: Int64) {
        var live = LivePump(limit(500))
        live.pump.waiting = 300
        #expect(live.run(1) == 300)
        live.apply(limit(bytes))
        #expect(live.run(1) == 300)
        #expect(live.pump.ended == .cut(.reset))
        #expect(live.pump.events.map(\.offset) == [300])
    }

    @Test func `of another name, or after another trigger, counts anew`() {
        for first in [limit(500, name: "a"), .cut(.at(ByteCount(500)), name: "limit")] {
            var live = LivePump(first)
            live.pump.waiting = 300
            #expect(live.run(1) == 300)
            live.apply(limit(350))
            live.pump.waiting = 400
            #expect(live.run(2) == 650)
        }
    }

    @Test func `counts in each phase from where the phase found the stream`() {
        let phases = [Phase.lasting(.milliseconds(2), limit(4)), .lasting(.milliseconds(1), name: "free")]
        #expect(timeline(of: .with(phases: phases, repeats: true), arrivals: "3--22|") == "3--2(2X)-")
    }

    @Test func `is repeated by its journal at its byte`() {
        let event = ReplayedPosition(at: .zero, base: .connection, longestInterval: .zero, drawnBit: { 0 })
        #expect(limit(0).kind.replayed(at: event) == limit(0).kind)
    }
}

@Suite("A cut by traffic")
struct CutByTrafficTests {
    private func traffic(_ time: Duration, _ how: Cut.Ending = .reset) -> Fault { .cut(.traffic(time), how) }

    @Test func `passes nothing, and ends the connection its time after the first byte`() {
        #expect(timeline(of: .with(traffic(.milliseconds(3))), arrivals: "--9-1---") == "-----X--")
        #expect(timeline(of: .with(traffic(.milliseconds(3), .close)), arrivals: "--|-----") == "-----x--")
        #expect(timeline(of: .with(traffic(.milliseconds(3), .silence)), arrivals: "9-------") == "---s----")
        #expect(timeline(of: .with(traffic(.zero)), arrivals: "--9-") == "--X-")
        #expect(timeline(of: .with(traffic(.milliseconds(3))), arrivals: "-----") == "-----")
    }

    @Test func `has no offset in the journal, since time decides`() {
        var live = LivePump(traffic(.milliseconds(3)), waiting: 5)
        #expect(live.run(9) == 0)
        #expect(live.pump.events == [FaultEvent(fault: 0, offset: nil, effect: .cuts(.reset))])
        #expect(live.pump.link.arrived == 0, "the bytes stay with the sender")
    }

    @Test func `leaves a live connection alone until more comes, and lets go what it held`() {
        var live = LivePump(waiting: 10)
        #expect(live.run(1) == 10)
        live.apply(traffic(.milliseconds(3)))
        #expect(live.run(50) == 10)
        live.pump.waiting = 5
        #expect(live.run(52) == 10)
        live.apply()
        #expect(live.run(52) == 15)
        live.apply(traffic(.milliseconds(3)))
        live.pump.waiting = 5
        #expect(live.run(60) == 15)
        #expect(live.pump.ended == .cut(.reset))
        #expect(live.pump.now == .milliseconds(55))
    }

    @Test func `that goes off in time lets everything pass`() {
        let phases = [Phase.lasting(.milliseconds(2), traffic(.milliseconds(3))), .lasting(nil, name: "free")]
        #expect(timeline(of: .with(phases: phases), arrivals: "4----|") == "--4--|")
    }
}
