import SimulatedLink
import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("A cut")
struct CutTests {
    /// What a link of `faults` lets out of `arrivals`, read `readSize` bytes at a time.
    private func run(
        _ faults: [Fault],
        _ arrivals: [LinkSimulation.Arrival],
        readSize: Int64 = 1 << 20
    ) -> LinkSimulation {
        var admitter = Admitter.of(.of(faults))
        var simulation = LinkSimulation(admitter.accept(at: .zero).downstream, arrivals: arrivals, readSize: readSize)
        simulation.run()
        return simulation
    }

    @Test(arguments: [0, 1, 2, 1_459, 1_460, 16_384, 65_535, 65_536, 99_999] as [Int64])
    func `delivers exactly its bytes and then one end, however they are read`(offset: Int64) {
        for readSize in [1, 3, 1_460, 65_536, 1 << 20] as [Int64] where offset / readSize < 20_000 {
            for how in Cut.Ending.allCases {
                let result = run([.cut(at: offset, how)], [.init(at: .zero, bytes: 100_000)], readSize: readSize)
                #expect(result.link.delivered == offset)
                #expect(result.deliveries.compactMap(\.end) == [.cut(how)])
                #expect(result.events == [FaultEvent(fault: 0, offset: offset, effect: .cuts(how))])
            }
        }
    }

    @Test(arguments: 0...9 as ClosedRange<Int64>)
    func `is the same for every way to split the arrivals`(offset: Int64) {
        for pattern in 0..<(1 << 9) {
            var arrivals: [LinkSimulation.Arrival] = [.init(at: .zero, bytes: 1)]
            for bit in 0..<9 {
                let isNew = pattern >> bit & 1 == 1
                let last = arrivals.count - 1
                if isNew {
                    arrivals.append(.init(at: .milliseconds(Int64(bit + 1)), bytes: 1))
                } else {
                    arrivals[last].bytes += 1
                }
            }
            let result = run([.cut(at: offset)], arrivals)
            #expect(result.link.delivered == offset)
            #expect(result.events == [FaultEvent(fault: 0, offset: offset, effect: .cuts(.reset))])
        }
    }

    @Test
    func `reads no byte beyond its offset`() {
        var pump = Pump(.with(.cut(at: 1_000)), waiting: nil)
        pump.run(until: .seconds(1))
        #expect(pump.link.arrived == 1_000)
        #expect(pump.ended == .cut(.reset))
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `at zero ends the connection before its first byte, without waiting for one`() {
        #expect(timeline(of: .with(.cut(at: 0)), arrivals: "--9|", ticks: 4) == "--X-")
        var link = Link.with(.cut(at: 0, .close))
        #expect(link.decide(available: 0, now: .zero).end == .cut(.close))
    }

    @Test
    func `at the very end of the stream comes before the stream's own end`() {
        #expect(timeline(of: .with(.cut(at: 3, .close)), arrivals: "12-|") == "1(2x)--")
        #expect(timeline(of: .with(.cut(at: 3)), arrivals: "(3|)") == "(3X)")
    }

    @Test
    func `beyond the end of the stream never happens`() {
        let result = run([.cut(at: 4)], [.init(at: .zero, bytes: 3, end: .finish)])
        #expect(result.deliveries.last?.end == .finish)
        #expect(result.link.delivered == 3)
        #expect(result.events.isEmpty)
    }

    @Test
    func `of two is the smaller, whatever their order`() {
        let cuts = [Fault.cut(at: 7, .reset, name: "far"), .cut(at: 4, .close, name: "near")]
        for faults in [cuts, cuts.reversed()] {
            let result = run(faults, [.init(at: .zero, bytes: 10)])
            #expect(result.link.delivered == 4)
            #expect(result.deliveries.last?.end == .cut(.close))
            #expect(result.events.count == 1)
        }
    }

    @Test
    func `is delayed by a latency like the bytes before it`() {
        let link = Link.with(.cut(at: 3), .latency(.milliseconds(2)))
        #expect(timeline(of: link, arrivals: "12-4|") == "--1(2X)-")
    }

    @Test
    func `waits for the bytes before it to leave at their rate`() {
        let link = Link.with(.bandwidth(bytesPerSecond: 1_000), .cut(at: 3))
        #expect(timeline(of: link, arrivals: "9-------|") == "---(3X)-----")
    }

    @Test
    func `waits for a stuck sink to take what comes before it`() {
        var pump = Pump(.with(.cut(at: 5)), waiting: 9)
        pump.sinkSize = 0
        pump.run(until: .seconds(1))
        #expect(pump.ended == nil)
        pump.sinkSize = 1
        pump.run(until: .seconds(2))
        #expect(pump.ended == .cut(.reset))
        #expect(pump.link.delivered == 5)
    }

    @Test
    func `after every so many bytes comes at the first multiple`() {
        #expect(run([.cut(.every(ByteCount(4)))], [.init(at: .zero, bytes: 100)]).link.delivered == 4)
        #expect(run([.cut(.every(ByteCount(1)))], [.init(at: .zero, bytes: 100)]).link.delivered == 1)
        #expect(run([.cut(.every(ByteCount(.max)))], [.init(at: .zero, bytes: 100)]).link.delivered == 100)
    }

    @Test
    func `takes a list of offsets in turn, then leaves connections alone`() {
        let offsets = [5, 2, 0].map { ByteCount($0) }
        var admitter = Admitter.of(.of([.cut(.inTurn(offsets)).when(Condition(connections: .every(2)))]))
        let delivered = (1...10).map { _ in
            var simulation = LinkSimulation(
                admitter.accept(at: .zero).upstream,
                arrivals: [.init(at: .zero, bytes: 9, end: .finish)]
            )
            simulation.run()
            return simulation.link.delivered
        }
        #expect(delivered == [9, 5, 9, 2, 9, 0, 9, 9, 9, 9])
    }

    @Test(arguments: [
        Condition(clock: ClockWindow(from: .seconds(3), until: .seconds(5))), Condition(ageFrom: .milliseconds(1)),
        nil,
    ])
    func `gives the offsets of a list to connections accepted while the fault is on, at whatever age it acts`(
        condition: Condition?
    ) {
        let cut = Fault.cut(.inTurn([5, 2, 0].map { ByteCount($0) })).when(condition ?? Condition())
        let phases: [Phase] = [
            .lasting(.seconds(3), name: "before"), .lasting(.seconds(2), cut, name: "in"), .lasting(nil, name: "after"),
        ]
        var admitter = Admitter.of(condition == nil ? .of([], phases: phases) : .of([cut]))
        let delivered = (0..<7).map { second in
            let opened = Moment.seconds(Int64(second))
            var simulation = LinkSimulation(
                admitter.accept(at: opened).upstream,
                arrivals: [.init(at: opened.advanced(byNanoseconds: 1_000_000), bytes: 9, end: .finish)]
            )
            simulation.run()
            return simulation.link.delivered
        }
        let isAged = condition?.ageFrom == .milliseconds(1)
        #expect(delivered == (isAged ? [5, 2, 0, 9, 9, 9, 9] : [9, 9, 9, 5, 2, 9, 9]))
    }

    @Test
    func `cuts both directions at the same turn of the list`() {
        var admitter = Admitter.of(.of([.cut(.inTurn([ByteCount(5), ByteCount(2)]))]))
        for offset in [5, 2] as [Int64] {
            let connection = admitter.accept(at: .zero)
            for link in [connection.upstream, connection.downstream] {
                var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 9)])
                simulation.run()
                #expect(simulation.link.delivered == offset)
            }
        }
    }

    @Test
    func `between two offsets is drawn evenly, both ends included`() {
        var admitter = Admitter.of(.of([.cut(.between(ByteCount(10), ByteCount(14))).on(.upstream)]))
        var counts: [Int64: Int] = [:]
        for _ in 0..<5_000 {
            var simulation = LinkSimulation(
                admitter.accept(at: .zero).upstream,
                arrivals: [.init(at: .zero, bytes: 20)]
            )
            simulation.run()
            counts[simulation.link.delivered, default: 0] += 1
        }
        #expect(Set(counts.keys) == Set(10...14))
        // Five standard deviations around 1,000 of 5,000.
        #expect(counts.values.allSatisfy { (860...1_140).contains($0) })
    }

    @Test
    func `between an offset and itself is at that offset, and the widest span overflows nothing`() {
        let exact = run([.cut(.between(ByteCount(7), ByteCount(7)))], [.init(at: .zero, bytes: 20)])
        #expect(exact.link.delivered == 7)
        let wide = run([.cut(.between(.zero, ByteCount(.max)))], [.init(at: .zero, bytes: 20, end: .finish)])
        #expect(wide.link.delivered == 20)
    }

    @Test
    func `of one stream leaves the other alone`() {
        var admitter = Admitter.of(.of([.cut(at: 3).on(.downstream)]))
        let connection = admitter.accept(at: .zero)
        #expect(timeline(of: connection.upstream, arrivals: "9|") == "9|")
        #expect(timeline(of: connection.downstream, arrivals: "9|") == "(3X)-")
    }
}

@Suite("A cut with a time")
struct TimedCutTests {
    @Test
    func `in a phase is missed when its offset has passed before`() {
        let phases = [Phase.lasting(.milliseconds(2)), .lasting(nil, .cut(at: 3), name: "cutting")]
        #expect(timeline(of: .with(phases: phases), arrivals: "1111|") == "11(1X)--")
        #expect(timeline(of: .with(phases: phases), arrivals: "2222|") == "2222|")
    }

    @Test
    func `in a phase is off again after it`() {
        let phases = [Phase.lasting(.milliseconds(2), .cut(at: 3))]
        #expect(timeline(of: .with(phases: phases), arrivals: "1-11|") == "1-11|")
    }

    @Test
    func `comes back with a phase that comes back`() {
        let phases = [Phase.lasting(.milliseconds(1), .cut(at: 3)), .lasting(.milliseconds(1), name: "free")]
        #expect(timeline(of: .with(phases: phases, repeats: true), arrivals: "1-11|") == "1-11X")
    }

    @Test
    func `every so many bytes counts its multiples from where the phase found the stream`() {
        let phases = [Phase.lasting(.milliseconds(2)), .lasting(nil, .cut(.every(ByteCount(4))), name: "cutting")]
        #expect(timeline(of: .with(phases: phases), arrivals: "2414|") == "241(1X)-")
        #expect(timeline(of: .with(phases: phases), arrivals: "4-5|") == "4-(4X)-")
    }

    @Test
    func `is armed and disarmed by the age of its connection`() {
        let condition = Condition(ageFrom: .milliseconds(1), ageUntil: .milliseconds(3))
        let link = Link.with(.cut(at: 3).when(condition))
        #expect(timeline(of: link, arrivals: "2-2|") == "2-(1X)-")
        #expect(timeline(of: link, arrivals: "2--2|") == "2--2|")
        #expect(timeline(of: link, arrivals: "4-2|") == "4-2|")
    }

    @Test
    func `ends an idle connection that stands at its offset as soon as it is armed`() {
        let aged = Link.with(.cut(at: 2).when(Condition(ageFrom: .milliseconds(3))))
        #expect(timeline(of: aged, arrivals: "2------|") == "2--X----")
        let phased = Link.with(phases: [.lasting(.milliseconds(2)), .lasting(nil, .cut(at: 0), name: "cutting")])
        #expect(timeline(of: phased, arrivals: "-------|") == "-------X")
        var link = phased
        #expect(link.decide(available: 0, now: .zero).wake == .milliseconds(2))
    }
}
