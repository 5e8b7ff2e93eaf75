import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A shared bandwidth")
struct SharedBandwidthTests {
    private static let rate: Int64 = 1_000_000

    /// Pumps for `count` connections behind one plan whose only fault is a shared rate.
    private func pumps(_ count: Int, burst: Int64 = 0, rate: Int64 = rate) -> [Pump] {
        var admitter = Admitter.of(.of([.bandwidth(bytesPerSecond: rate, burst: burst, scope: .proxy)]))
        return (0..<count).map { _ in Pump(admitter.accept(at: .zero).downstream, waiting: nil) }
    }

    @Test(arguments: [1, 2, 4, 13])
    func `is the rate of all links together, and an equal part for each`(count: Int) {
        var pumps = pumps(count)
        runTogether(&pumps, until: .seconds(5))
        let parts = pumps.map(\.link.delivered)
        let total = parts.reduce(0, +)
        #expect(abs(total - 5 * Self.rate) <= 5 * Self.rate / 100)
        #expect(total <= 5 * Self.rate)
        let fair = 5 * Self.rate / Int64(count)
        #expect(parts.allSatisfy { abs($0 - fair) <= fair / 50 + 1_460 })
        #expect(pumps.allSatisfy { $0.violations.isEmpty })
    }

    @Test(arguments: [3, 40, 200] as [Int64])
    func `loses nothing by late wake-ups`(lateness: Int64) {
        var pumps = pumps(4)
        runTogether(&pumps, until: .seconds(5), lateness: lateness * 1_000_000)
        let total = pumps.map(\.link.delivered).reduce(0, +)
        #expect(abs(total - 5 * Self.rate) <= Self.rate * (lateness + 50) / 1_000)
        #expect(pumps.allSatisfy { $0.link.delivered > 0 && $0.violations.isEmpty })
    }

    @Test
    func `goes to the others when one has nothing to pass`() {
        var pumps = pumps(2)
        pumps[0].waiting = 100_000
        runTogether(&pumps, until: .seconds(2))
        #expect(pumps[0].link.delivered == 100_000)
        #expect(abs(pumps[1].link.delivered - 1_900_000) <= 20_000)
    }

    @Test(arguments: [0, 30_000] as [Int64])
    func `gives no more than the burst after an idle time`(burst: Int64) {
        var pumps = pumps(2, burst: burst)
        pumps[0].waiting = 50_000
        pumps[1].waiting = 50_000
        runTogether(&pumps, until: .seconds(1))
        #expect(pumps.map(\.link.delivered) == [50_000, 50_000])
        for index in 0..<2 {
            pumps[index].now = .seconds(30)
            pumps[index].waiting = nil
            _ = pumps[index].settle()
        }
        #expect(pumps.map(\.link.delivered).reduce(0, +) == 100_000 + burst)
    }

    @Test
    func `gives the whole burst at the start, once`() {
        var pumps = pumps(3, burst: 30_000)
        for index in pumps.indices { _ = pumps[index].settle() }
        #expect(pumps.map(\.link.delivered).reduce(0, +) == 30_000)
        #expect(pumps.allSatisfy { $0.violations.isEmpty })
    }

    @Test
    func `gives no gift to others while one link's sink is stuck`() {
        let fault = Fault.bandwidth(bytesPerSecond: Self.rate, scope: .proxy)
        var admitter = Admitter.of(.of([fault]), holdLimit: ByteCount(1_000))
        var pumps = (0..<2).map { _ in Pump(admitter.accept(at: .zero).downstream, waiting: 5_000) }
        pumps[0].sinkSize = 0
        runTogether(&pumps, until: .seconds(3))
        #expect(pumps.map(\.link.delivered) == [0, 5_000])
        pumps[1].now = .seconds(20)
        pumps[1].waiting = nil
        _ = pumps[1].settle()
        #expect(pumps[1].link.delivered == 5_000)
    }

    @Test
    func `is free again when a link is closed in the middle of a wait`() {
        var pumps = pumps(3)
        runTogether(&pumps, until: .seconds(1))
        for index in [0, 1] { pumps[index].link.close() }
        var rest = [pumps[2]]
        let before = rest[0].link.delivered
        rest[0].now = .seconds(1)
        runTogether(&rest, until: .seconds(2))
        #expect(abs(rest[0].link.delivered - before - Self.rate) <= Self.rate / 100)
        rest[0].link.close()
    }

    @Test
    func `counts a link closed once, however often it is closed`() {
        let bucket = SharedBucket(Bandwidth(rate: .bytesPerSecond(1_000), scope: .proxy))
        bucket.enter(since: 0)
        _ = bucket.reserve(10, at: 0, since: 0)
        var stage = SharedBandwidthStage(bucket)
        stage.leave()
        stage.leave()
        // Had the stage left without having entered, this would count as the first link after an idle
        // time, and the reservation of another link's bytes would be forgotten.
        bucket.enter(since: 20_000_000_000)
        #expect(bucket.reserve(1, at: 20_000_000_000, since: 19_750_000_000).until < 20_000_000_000)
    }

    @Test
    func `keeps upstream and downstream apart`() {
        var admitter = Admitter.of(.of([.bandwidth(bytesPerSecond: Self.rate, scope: .proxy)]))
        let connection = admitter.accept(at: .zero)
        var pumps = [Pump(connection.upstream, waiting: nil), Pump(connection.downstream, waiting: nil)]
        runTogether(&pumps, until: .seconds(1))
        #expect(pumps.allSatisfy { abs($0.link.delivered - Self.rate) <= Self.rate / 100 })
    }

    @Test
    func `of a phase holds only in it`() {
        let fault = Fault.bandwidth(bytesPerSecond: 1_000, scope: .proxy)
        let link = Link.with(
            phases: [.lasting(.seconds(1), fault), .lasting(.seconds(1), name: "free")],
            repeats: true
        )
        var pump = Pump(link, waiting: 50_000)
        pump.end = .finish
        pump.run(until: .seconds(10))
        #expect(pump.ended == .finish)
        #expect(pump.now == .seconds(1))
    }

    @Test
    func `at a few bits per second lets every byte through in its time`() {
        var admitter = Admitter.of(.of([.bandwidth(BitRate(bitsPerSecond: 3), scope: .proxy)]))
        var pump = Pump(admitter.accept(at: .zero).upstream, waiting: nil)
        pump.run(until: .seconds(80))
        #expect((29...30).contains(pump.link.delivered))
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `takes from the bucket no more than a slower rate of the link itself lets through`() {
        var admitter = Admitter.of(
            .of([
                .bandwidth(bytesPerSecond: Self.rate, scope: .proxy, name: "shared"),
                .bandwidth(bytesPerSecond: 1_000, name: "own").when(Condition(connections: .range(1...1))),
            ])
        )
        var pumps = (0..<2).map { _ in Pump(admitter.accept(at: .zero).downstream, waiting: nil) }
        runTogether(&pumps, until: .seconds(2))
        #expect(abs(pumps[0].link.delivered - 2_000) <= 20)
        #expect(abs(pumps[1].link.delivered - 1_998_000) <= 20_000)
    }
}
