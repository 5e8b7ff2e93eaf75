import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

/// A rate makes up for questions that come late, because the machine was busy, and for nothing else.
@Suite("A late question")
struct LatenessTests {
    private static let rate: Int64 = 1_000_000

    private static let faults: [Fault] = [
        .bandwidth(bytesPerSecond: rate),
        .bandwidth(bytesPerSecond: rate, scope: .proxy),
        Fault(name: "reader", kind: .slowReader(SlowReader(rate: .bytesPerSecond(rate)))),
        // 1,500 B each 1.5 ms, in pairs.
        Fault(name: "trace", kind: .trace(Trace(file: "", opportunities: [3, 3], queue: ByteCount(256 << 10)))),
    ]

    private func link(_ fault: Fault) -> Link {
        var admitter = Admitter.of(.of([fault]))
        return admitter.accept(at: .zero).downstream
    }

    /// 500 ms late, twice, with as much in front of the link as a socket holds; more is there a moment later.
    @Test(arguments: faults)
    func `costs no throughput, although its source had to wait`(fault: Fault) {
        var pump = Pump(link(fault), waiting: 128 << 10)
        var refilled = Moment.zero
        var hasBeenLate = 0
        while pump.now < .seconds(4) {
            var next = pump.settle()
            if pump.now > .seconds(1), hasBeenLate == 0 || hasBeenLate == 1 && pump.now > .seconds(2) {
                hasBeenLate += 1
                next = next.advanced(byNanoseconds: 500_000_000)
            }
            // The source sends again some 100 µs after it finds room.
            refilled = pump.now.advanced(byNanoseconds: 100_000)
            pump.now = pump.waiting ?? 0 < 64 << 10 ? min(next, refilled) : next
            if pump.now == refilled { pump.waiting = 128 << 10 }
        }
        let expected = Double(Self.rate) * Double(pump.now.nanoseconds) / 1e9
        #expect(abs(Double(pump.link.delivered) - expected) < 0.01 * expected, "\(pump.link.delivered)")
        #expect(pump.link.lostBytes == 0 && pump.violations.isEmpty)
    }

    @Test(arguments: faults)
    func `gives nothing to a source that was silent`(fault: Fault) {
        var pump = Pump(link(fault), waiting: 10_000)
        pump.run(until: .seconds(5), lateness: 300_000_000)
        #expect(pump.link.delivered == 10_000)
        pump.now = .seconds(60)
        pump.waiting = nil
        _ = pump.settle()
        #expect(pump.link.delivered <= 10_000 + 3_000)
    }

    /// Ten questions in a row, each 30 ms late, while the source is silent in between: nothing adds up.
    @Test(arguments: faults)
    func `that follows another adds nothing to it`(fault: Fault) {
        var pump = Pump(link(fault), waiting: 1_000)
        for _ in 0..<10 {
            let wake = pump.settle()
            pump.now = min(wake, pump.now.advanced(byNanoseconds: 200_000_000)).advanced(byNanoseconds: 30_000_000)
            pump.waiting = (pump.waiting ?? 0) + 1_000
        }
        pump.waiting = nil
        _ = pump.settle()
        #expect(pump.link.delivered <= 11_000 + 260_000)
        #expect(pump.violations.isEmpty)
    }
}
