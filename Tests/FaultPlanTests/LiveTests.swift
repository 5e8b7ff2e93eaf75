import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A live link that gets another plan")
struct LiveTests {
    // MARK: Faults that begin

    @Test func `a rate that begins doesn't make up for the time before`() {
        var live = LivePump(waiting: 5_000)
        #expect(live.run(10_000) == 5_000)
        live.apply(.bandwidth(bytesPerSecond: 10_000))
        live.pump.waiting = nil
        #expect(live.run(11_000) - 5_000 <= 10_100)
        #expect(live.run(12_000) - 5_000 >= 19_900)
    }

    @Test func `a rate that is changed holds from here on`() {
        var live = LivePump(.bandwidth(bytesPerSecond: 10_000), waiting: nil)
        let before = live.run(1_000)
        live.apply(.bandwidth(bytesPerSecond: 1_000_000))
        let after = live.run(2_000)
        #expect((9_900...10_100).contains(before))
        #expect((990_000...1_010_000).contains(after - before))
    }

    @Test(arguments: [(999, nil), (1_000, 1_000), (1_001, 1_001)] as [(Int64, Int64?)])
    func `a cut at an offset that has passed never acts, and at any other exactly`(offset: Int64, end: Int64?) {
        var live = LivePump(waiting: 1_000)
        #expect(live.run(1) == 1_000)
        live.apply(.cut(at: offset))
        live.pump.waiting = 5_000
        #expect(live.run(2) == end ?? 6_000)
        #expect(live.pump.ended == (end == nil ? nil : .cut(.reset)))
    }

    @Test func `a delay holds nothing that is on its way already`() {
        var live = LivePump(.latency(.milliseconds(50)), waiting: 100)
        #expect(live.run(10) == 0)
        live.apply(.latency(.milliseconds(50)), .latency(.seconds(9), name: "more"))
        live.pump.waiting = 10
        #expect(live.run(49) == 0)
        #expect(live.run(50) == 100, "as if nothing had happened")
        #expect(live.run(9_059) == 100)
        #expect(live.run(9_060) == 110, "both of them")
    }

    @Test func `offsets in turn are for connections that come`() {
        var live = LivePump(waiting: 10)
        live.apply(.cut(.inTurn([ByteCount(20)])))
        live.pump.waiting = 100
        #expect(live.run(1) == 100)
        #expect(live.pump.ended == nil)
    }

    @Test func `a corruption or a truncation behind the offset never acts`() {
        var live = LivePump(waiting: 0)
        live.pump.link.bytesTaken(100, now: .zero)
        live.apply(.corrupt(.at(ByteCount(50))), .truncate(at: 60, 5), .corrupt(.at(ByteCount(150)), name: "later"))
        #expect(live.pump.link.bytesTaken(100, now: .zero) == [.flip(index: 50, mask: 1 << bit(of: "later", at: 150))])
    }

    private func bit(of fault: String, at offset: Int64) -> UInt8 {
        UInt8(
            Corrupt.drawnBit(at: offset, of: fault, connection: 1, direction: .downstream, proxy: "proxy", seed: 1)
        )
    }

    @Test func `a fault that is added moves no other one's draws`() {
        let rate = Fault.corrupt(.rate(Probability(0.01) ?? .never))
        var still = LivePump(rate)
        var live = LivePump(rate)
        live.apply(.corrupt(.at(ByteCount(5_000_000)), name: "other"), rate)
        for _ in 0..<10 {
            let expected = still.pump.link.bytesTaken(1_000, now: .zero)
            #expect(live.pump.link.bytesTaken(1_000, now: .zero) == expected)
        }
    }

    @Test func `a chance is drawn on a live connection as on a new one`() {
        let chance = Condition(chance: .percent(50))
        func hit(_ name: String, seed: UInt64) -> [Bool] {
            let fault = Fault.latency(.seconds(1), name: name).when(chance)
            var admitter = Admitter.of(.of([]), seed: seed)
            let change = admitter.apply(.of([fault]))
            var fresh = Admitter.of(.of([fault]), seed: seed)
            return (1...64 as ClosedRange<UInt64>).map { ordinal in
                let isHit = !change.update(connection: ordinal, opened: .zero).isEmpty
                #expect(fresh.accept(at: .zero).downstream.takesAhead == isHit)
                return isHit
            }
        }
        let first = hit("a", seed: 1)
        #expect(first.contains(true) && first.contains(false))
        #expect(hit("a", seed: 1) == first)
        #expect(hit("b", seed: 1) != first)
        #expect(hit("a", seed: 2) != first)
    }

    // MARK: Faults that end

    @Test func `a delay that is gone lets go what it held, in order`() {
        var live = LivePump(.latency(.seconds(60)), .bandwidth(bytesPerSecond: 1_000_000), waiting: 5_000)
        #expect(live.run(100) == 0)
        live.apply(.bandwidth(bytesPerSecond: 1_000_000))
        #expect(live.run(100) == 5_000)
    }

    @Test func `a cut that has acted and waits for its bytes is lifted`() {
        var live = LivePump(.cut(at: 100), .latency(.milliseconds(50)), waiting: 100)
        #expect(live.run(10) == 0)
        live.apply(.latency(.milliseconds(50)))
        live.pump.waiting = 1
        #expect(live.run(50) == 100)
        #expect(live.run(60) == 101, "no end was left behind")
        live.pump.end = .finish
        #expect(live.run(200) == 101)
        #expect(live.pump.ended == .finish)
    }

    @Test func `a stall and a half-open connection end with their faults`() {
        for fault in [Fault.stall(at: 10, for: .seconds(1_000)), .halfOpen(at: 10), .halfOpen(after: .milliseconds(1))]
        {
            var live = LivePump(fault)
            live.pump.run(until: .milliseconds(5))
            live.pump.waiting = 100
            #expect(live.run(10) <= 10)
            live.apply()
            #expect(live.run(10) == 100)
            #expect(!live.pump.link.isBlackholed && live.pump.link.isTransparent)
        }
    }

    @Test func `a shared rate that is gone holds no link back`() {
        let shared = Fault.bandwidth(bytesPerSecond: 1_000, scope: .proxy)
        var admitter = Admitter.of(.of([shared]))
        var connections = [admitter.accept(at: .zero), admitter.accept(at: .zero)]
        for index in connections.indices { _ = connections[index].downstream.decide(available: 1 << 20, now: .zero) }
        let change = admitter.apply(.of([shared.when(Condition(connections: .range(3...9)))]))
        for index in connections.indices {
            let update = change.update(connection: UInt64(index + 1), opened: .zero)
            var (up, down) = (connections[index].upstream, connections[index].downstream)
            _ = update.apply(to: &up, &down, at: .zero)
            #expect(up.isTransparent && down.isTransparent)
        }
    }

    // MARK: Faults that go on

    @Test func `the order of the profile changes nothing for faults that go on`() {
        let faults = [Fault.latency(.milliseconds(10), name: "a"), .latency(.milliseconds(20), name: "b")]
        var live = LivePump(.of(faults))
        live.pump.waiting = 7
        #expect(live.run(5) == 0)
        live.apply(.of(faults.reversed()))
        #expect(live.run(29) == 0)
        #expect(live.run(30) == 7)
    }

    @Test func `a fault of a phase goes on where its phase gets another length`() {
        let slow = Fault.latency(.milliseconds(100), name: "first/latency")
        var live = LivePump(.of([], phases: [.lasting(.seconds(1), slow, name: "first")]))
        live.pump.waiting = 7
        #expect(live.run(10) == 0)
        live.apply(.of([], phases: [.lasting(.milliseconds(50), slow, name: "first")]))
        #expect(live.run(99) == 0)
        #expect(live.run(100) == 7)
        live.pump.waiting = 3
        #expect(live.run(100) == 10, "the phase is over, on the clock that has gone on")
    }

    @Test func `the connections that a fault has met go on counting`() {
        let cut = Fault.cut(.inTurn([ByteCount(10), ByteCount(20), ByteCount(30)]))
        var admitter = Admitter.of(.of([cut]))
        _ = admitter.accept(at: .zero)
        _ = admitter.apply(.of([.latency(.zero), cut]))
        var second = Pump(admitter.accept(at: .zero).downstream, waiting: 100)
        second.run(until: .zero)
        #expect(second.link.delivered == 20)
    }

    @Test func `a fault that another waits for has acted in the next generation as well`() {
        let first = Fault.cut(at: 5, name: "first")
        let then = Fault.cut(at: 9, name: "then").when(Condition(after: "first"))
        var admitter = Admitter.of(.of([first, then]))
        var pump = Pump(admitter.accept(at: .zero).downstream, waiting: 100)
        pump.run(until: .zero)
        for event in pump.events { admitter.plan.note(event) }
        _ = admitter.apply(.of([.latency(.zero), then, first]))
        #expect(admitter.accept(at: .zero).downstream.measuresAvailability == false)
        _ = admitter.apply(.of([then, first.when(Condition(connections: .range(1...1)))]))
        var last = Pump(admitter.accept(at: .zero).downstream, waiting: 100)
        last.run(until: .zero)
        #expect(last.link.delivered == 100, "the first is another one, and hasn't struck")
    }

    // MARK: What a change says

    @Test func `a change names what is added, removed and changed`() {
        var admitter = Admitter.of(.of([.latency(.seconds(1)), .cut(at: 5), .stall(at: 1, for: .seconds(1))]))
        let change = admitter.apply(.of([.cut(at: 6), .stall(at: 1, for: .seconds(1)), .slowClose(.seconds(1))]))
        #expect(change.added == ["slow-close"])
        #expect(change.removed == ["latency"])
        #expect(change.changed == ["cut"])
        #expect(change.plan.generation == 2)
        #expect(admitter.plan.fault(2).name == "stall", "its identity has stayed")
        #expect(!change.changesPhases)
    }

    @Test func `messages and patterns are read for as long as a fault that has not acted asks`() {
        let message = Fault(name: "http", kind: .http(.drop(StatusSelection(103...103))))
        let pattern = Fault.cut(.pattern(BytePattern(Array("END".utf8))), name: "pattern")
        var live = LivePump(message, pattern)
        let both = live.apply(message, pattern.on(.downstream))
        #expect(both.messages && both.patterns.keys.sorted { $0.rawValue < $1.rawValue } == [.downstream])
        #expect(live.apply(message).patterns.isEmpty)
        #expect(live.apply().isNone)
    }
}
