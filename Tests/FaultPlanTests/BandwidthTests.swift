import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("Bandwidth")
struct BandwidthTests {
    @Test(arguments: [100_000, 1_000_000, 12_345_678, 100_000_000] as [Int64])
    func `lets out what the rate allows, never more, and one quantum less at most`(bytesPerSecond: Int64) {
        let rate = BitRate.bytesPerSecond(bytesPerSecond)
        let quantum = BandwidthStage.quantum(of: rate)
        var pump = Pump(.with(.bandwidth(bytesPerSecond: bytesPerSecond)), waiting: nil)
        var worst: Int64 = 0
        while pump.now < .seconds(5) {
            let wake = pump.settle()
            let allowed = rate.bytes(inNanoseconds: pump.now.nanoseconds)
            worst = max(worst, abs(allowed - pump.link.delivered))
            #expect(wake.nanoseconds - pump.now.nanoseconds <= rate.nanoseconds(forBytes: quantum) + 1)
            // In a few large steps rather than 5,000 small ones: the link must not mind.
            pump.now = max(wake, pump.now.advanced(byNanoseconds: 20_000_000))
        }
        #expect(worst == 0)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `has nothing to give away at the start`() {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: 1_000_000)), waiting: nil, at: .seconds(100))
        _ = pump.settle()
        #expect(pump.link.delivered == 0)
        pump.now = pump.now.advanced(byNanoseconds: 1_000)
        _ = pump.settle()
        #expect(pump.link.delivered == 1)
    }

    @Test(arguments: [Moment.zero, .seconds(100)])
    func `gives exactly the burst at the start, then the rate`(start: Moment) {
        let link = Link.with(.bandwidth(bytesPerSecond: 1_000_000, burst: 5_000))
        var pump = Pump(link, waiting: nil, at: start)
        _ = pump.settle()
        #expect(pump.link.delivered == 5_000)
        pump.run(until: start.advanced(byNanoseconds: 1_000_000_000))
        #expect(pump.link.delivered == 1_005_000)
    }

    @Test(arguments: [0, 5_000] as [Int64])
    func `gives no more than the burst after an idle time`(burst: Int64) {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: 1_000_000, burst: burst)), waiting: 10_000)
        pump.run(until: .seconds(1))
        #expect(pump.link.delivered == 10_000)
        pump.now = .seconds(60)
        pump.waiting = nil
        _ = pump.settle()
        #expect(pump.link.delivered == 10_000 + burst)
        pump.run(until: .seconds(61))
        #expect(pump.link.delivered == 10_000 + burst + 1_000_000)
    }

    @Test
    func `gives back a part of the burst for a short idle time`() {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: 1_000_000, burst: 5_000)), waiting: 5_000)
        pump.run(until: .milliseconds(2))
        #expect(pump.link.delivered == 5_000)
        pump.waiting = nil
        _ = pump.settle()
        #expect(pump.link.delivered == 7_000)
    }

    @Test(arguments: [1, 7, 100, 250] as [Int64], [8_000, 1_000_000, 100_000_000] as [Int64])
    func `loses nothing by wake-ups up to 250 ms late`(lateness: Int64, bytesPerSecond: Int64) {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: bytesPerSecond)), waiting: nil)
        pump.run(until: .seconds(5), lateness: lateness * 1_000_000)
        #expect(pump.link.delivered == 5 * bytesPerSecond)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `makes good no more than 10 s of a pump that was away for long, and counts what is lost`() {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: 1_000_000)), waiting: nil)
        _ = pump.settle()
        pump.now = .seconds(60)
        _ = pump.settle()
        let quantum = BandwidthStage.quantum(of: .bytesPerSecond(1_000_000))
        #expect((10_000_000...10_000_001 + quantum).contains(pump.link.delivered))
        #expect(pump.link.delivered + pump.link.lostBytes == 60_000_000)
    }

    @Test
    func `makes good no more than 250 ms of a sink that takes nothing`() {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: 1_000_000)), waiting: nil)
        _ = pump.settle()
        _ = pump.link.sinkIsFull(at: pump.now)
        pump.now = .seconds(10)
        _ = pump.settle()
        let quantum = BandwidthStage.quantum(of: .bytesPerSecond(1_000_000))
        #expect((250_000...250_001 + quantum).contains(pump.link.delivered))
        #expect(pump.link.lostBytes == 0)
    }

    @Test(arguments: [1, 7, 8, 31, 32, 33, 100] as [Int64])
    func `at a few bits per second still lets every byte through in its time`(bitsPerSecond: Int64) {
        let rate = BitRate(bitsPerSecond: bitsPerSecond)
        var pump = Pump(.with(.bandwidth(rate)), waiting: nil)
        pump.run(until: .seconds(800))
        #expect(pump.link.delivered == 100 * bitsPerSecond)
        #expect(pump.decisions < 4 * 100 * Int(bitsPerSecond) + 10)
        #expect(pump.violations.isEmpty)
    }

    @Test(arguments: [1 << 40, .max] as [Int64])
    func `at an absurd rate overflows nothing`(bitsPerSecond: Int64) {
        let link = Link.with(.bandwidth(BitRate(bitsPerSecond: bitsPerSecond), burst: .max))
        var pump = Pump(link, waiting: 1 << 36)
        pump.end = .finish
        pump.run(until: .seconds(1_000_000))
        #expect(pump.ended == .finish)
        #expect(pump.link.delivered == 1 << 36)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `begins at the moment of its phase, without a gift or a debt`() {
        let phases = [
            Phase.lasting(.seconds(1), .bandwidth(bytesPerSecond: 1_000_000, name: "a"), name: "a"),
            Phase.lasting(.seconds(1), name: "free"),
            Phase.lasting(.seconds(1), .bandwidth(bytesPerSecond: 2_000_000, name: "b"), name: "b"),
        ]
        var pump = Pump(.with(phases: phases, repeats: true), waiting: nil)
        pump.readSize = 64 << 10
        pump.run(until: Moment(nanoseconds: 999_999_999))
        #expect(pump.link.delivered == 999_999)
        pump.waiting = 10_000_000
        pump.run(until: Moment(nanoseconds: 1_999_999_999))
        #expect(pump.waiting == 0)
        let free = pump.link.delivered
        pump.waiting = nil
        pump.now = .seconds(2)
        pump.run(until: Moment(nanoseconds: 2_999_999_999))
        #expect(pump.link.delivered == free + 1_999_999)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `saves up nothing while an outage lets nothing through`() {
        let phases = [Phase.lasting(.seconds(1)), .lasting(.seconds(5), .outage(.silence), name: "gone")]
        let link = Link.with(.bandwidth(bytesPerSecond: 1_000_000), phases: phases, repeats: true)
        var pump = Pump(link, waiting: nil)
        pump.run(until: Moment(nanoseconds: 6_999_999_999))
        #expect((1_990_000...2_000_000).contains(pump.link.delivered))
        pump.run(until: .seconds(60))
        #expect((9_900_000...10_000_000).contains(pump.link.delivered))
        #expect(pump.violations.isEmpty)
    }

    @Test(arguments: [(3, 7), (1, 9), (30, 70), (7, 1)])
    func `passes what it carries in the moments between outages, however short they are`(on: Int, off: Int) {
        let gone = DutyCycle(on: .milliseconds(off), off: .milliseconds(on))
        let link = Link.with(
            .bandwidth(bytesPerSecond: 1_000),
            .outage(.silence).when(Condition(duty: gone))
        )
        var pump = Pump(link, waiting: nil)
        pump.run(until: .seconds(50))
        let expected = 50_000 * Int64(on) / Int64(on + off)
        #expect((expected - 11...expected).contains(pump.link.delivered))
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `of two is the slower`() {
        let link = Link.with(.bandwidth(bytesPerSecond: 5_000), .bandwidth(bytesPerSecond: 2_000, name: "slower"))
        var pump = Pump(link, waiting: nil)
        pump.run(until: .seconds(3))
        #expect((6_000 - BandwidthStage.quantum(of: .bytesPerSecond(2_000))...6_000).contains(pump.link.delivered))
    }

    @Test
    func `reads no more than it lets out, so the source feels it`() {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: 1_000)), waiting: nil)
        pump.run(until: .seconds(2))
        #expect(pump.link.arrived == 2_000)
        #expect(pump.link.held == 0)
    }

    @Test
    func `fills the delay line behind it at its rate`() {
        let link = Link.with(.bandwidth(bytesPerSecond: 1_000), .latency(.milliseconds(500)))
        var pump = Pump(link, waiting: nil)
        pump.run(until: .seconds(2))
        #expect(pump.link.arrived == 2_000)
        #expect((1_490...1_500).contains(pump.link.delivered))
    }

    @Test
    func `acts when the first byte wants through, and tells no offset`() {
        var pump = Pump(.with(.bandwidth(bytesPerSecond: 1_000)), waiting: 0)
        pump.run(until: .seconds(1))
        #expect(pump.events.isEmpty)
        pump.waiting = 10
        pump.run(until: .seconds(2))
        #expect(pump.events == [FaultEvent(fault: 0, offset: nil, effect: .limits)])
    }

    @Test
    func `has a quantum of a millisecond, a segment or ten milliseconds, and one byte at least`() {
        #expect(BandwidthStage.quantum(of: .bytesPerSecond(100_000_000)) == 100_000)
        #expect(BandwidthStage.quantum(of: .bytesPerSecond(1_000_000)) == 1_460)
        #expect(BandwidthStage.quantum(of: .bytesPerSecond(100_000)) == 1_000)
        #expect(BandwidthStage.quantum(of: BitRate(bitsPerSecond: 1)) == 1)
    }
}
