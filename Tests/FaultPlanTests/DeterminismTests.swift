import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

@Suite("The same seed")
struct DeterminismTests {
    private let faults: [Fault] = [
        .cut(.between(ByteCount(1_000), ByteCount(150_000)), name: "cut"),
        .stall(at: 500, for: .milliseconds(7), name: "stall"),
        .latency(.milliseconds(3), jitter: .milliseconds(2), name: "latency"),
        .bandwidth(bytesPerSecond: 50_000_000, name: "rate"),
    ]

    /// The fault events of the first connections, those with an offset.
    private func events(
        _ faults: [Fault],
        seed: UInt64 = 1,
        proxy: String = "proxy",
        readSize: Int64 = 1 << 20,
        splits: Int64 = 1
    ) -> [[String]] {
        var admitter = Admitter(Plan(profile: .of(faults), seed: seed, proxy: proxy, start: .zero))
        return (0..<6).map { index in
            let connection = admitter.accept(at: .zero)
            let link = index.isMultiple(of: 2) ? connection.upstream : connection.downstream
            let piece = 200_000 / splits
            let arrivals = (0..<splits).map {
                LinkSimulation.Arrival(at: Moment(nanoseconds: $0 * 77_777), bytes: piece)
            }
            var simulation = LinkSimulation(link, arrivals: arrivals, readSize: readSize)
            simulation.run()
            return simulation.events.filter { $0.offset != nil }
                .map { "\(admitter.plan.faults[$0.fault].name) \($0.effect.word) at \($0.offset ?? -1)" }
        }
    }

    @Test(arguments: [500, 1_460, 65_536, 1 << 30] as [Int64], [1, 13, 500] as [Int64])
    func `acts at the same bytes whatever the reads and the arrivals`(readSize: Int64, splits: Int64) {
        let expected = events(faults)
        #expect(expected.allSatisfy { $0.count == 2 && $0[0] == "stall stalls at 500" })
        #expect(events(faults, readSize: readSize, splits: splits) == expected)
    }

    @Test
    func `acts at the same bytes when they are read one by one`() {
        let faults: [Fault] = [.cut(.between(ByteCount(10), ByteCount(900))), .stall(at: 7, for: .seconds(1))]
        #expect(events(faults, readSize: 1, splits: 1_000) == events(faults))
    }

    @Test
    func `does not mean the same for another seed, proxy, connection or direction`() {
        let cut = [faults[0]]
        let first = events(cut)
        #expect(Set(first).count == first.count)
        #expect(events(cut, seed: 2) != first)
        #expect(events(cut, proxy: "other") != first)
        var admitter = Admitter.of(.of(cut))
        let connection = admitter.accept(at: .zero)
        let offsets = [connection.upstream, connection.downstream].map { link in
            var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 1 << 20)])
            simulation.run()
            return simulation.link.delivered
        }
        #expect(offsets[0] != offsets[1])
    }

    @Test
    func `gives a fault the same draws when others are added, moved or taken away`() {
        let alone = events([faults[0]])
        for others in [[faults[1], faults[0]], [faults[0], faults[2], faults[3]], faults, faults.reversed()] {
            let cuts = events(others).map { $0.filter { $0.hasPrefix("cut") } }
            #expect(cuts == alone)
        }
        let another = Fault.cut(.between(ByteCount(950_000), ByteCount(960_000)), name: "another")
        #expect(events([another, faults[0]]) == alone)
    }

    @Test
    func `gives a fault the same draws in a phase as outside`() {
        var admitter = Admitter.of(.of([], phases: [.lasting(nil, faults[0])]))
        var other = Admitter.of(.of([faults[0]]))
        for _ in 0..<20 {
            let delivered = [admitter.accept(at: .zero).upstream, other.accept(at: .zero).upstream].map { link in
                var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 1 << 20)])
                simulation.run()
                return simulation.link.delivered
            }
            #expect(delivered[0] == delivered[1])
        }
    }

    @Test
    func `makes a whole run the same to the nanosecond`() {
        func run() -> [LinkSimulation.Delivery] {
            let arrivals = (0..<200).map { LinkSimulation.Arrival(at: .milliseconds($0), bytes: 3_000) }
            var admitter = Admitter.of(.of(Array(faults[1...])))
            var simulation = LinkSimulation(admitter.accept(at: .zero).upstream, arrivals: arrivals)
            simulation.run()
            return simulation.deliveries
        }
        #expect(run() == run())
        #expect(run().last?.offset == 600_000)
    }
}
