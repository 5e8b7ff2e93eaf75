import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A virtual sender behind a rate")
struct FedSenderTests {
    /// When a link is asked beside its wake-ups.
    enum Questions: CaseIterable {
        case wakesOnly, eachMillisecond, eachSevenMilliseconds, random
    }

    /// Burst losses behind rates below, near and above what the sender reaches.
    static let links: [[FaultKind]] = [
        [rate(20_000_000), loss(1, burst: 6, .cubic)],
        [rate(20_000_000), loss(3, burst: 4, .reno)],
        [rate(5_000_000), loss(2, burst: 5, .bbr)],
        [rate(300_000), loss(2, burst: 3, .cubic)],
        [rate(8_000_000, burst: 30_000), loss(2, burst: 5, .cubic)],
    ]

    private static func rate(_ bitsPerSecond: Int64, burst: Int64 = 0) -> FaultKind {
        .bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: bitsPerSecond), burst: ByteCount(burst)))
    }

    /// The rate of a proxy, which one connection has for itself.
    private static func shared(_ bitsPerSecond: Int64) -> FaultKind {
        .bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: bitsPerSecond), scope: .proxy))
    }

    private static func loss(_ percent: Double, burst: Int, _ sender: Loss.Sender) -> FaultKind {
        .loss(Loss(rate: .percent(percent), burst: burst, roundTrip: .milliseconds(40), sender: sender))
    }

    /// How far a stream has come after each 50 ms, without a call to its link for that.
    private func progress(_ faults: [FaultKind], seed: UInt64, _ questions: Questions) -> [Int64] {
        var random = SeededGenerator(seed: seed)
        var pump = pump(faults, seed: seed)
        var seen: [Int64] = []
        while seen.count < 100 {
            let next = next(questions, pump.settle(), pump.now, &random)
            while seen.count < 100, next.nanoseconds > Int64(seen.count + 1) * 50_000_000 {
                var copy = pump
                copy.now = Moment(nanoseconds: Int64(seen.count + 1) * 50_000_000)
                _ = copy.settle()
                seen.append(copy.link.delivered)
            }
            pump.now = next
        }
        return seen
    }

    private func pump(_ faults: [FaultKind], seed: UInt64) -> Pump {
        var admitter = Admitter.of(.of(faults.map { Fault(name: "fault", kind: $0) }), seed: seed)
        return Pump(admitter.accept(at: .zero).downstream, waiting: nil)
    }

    private func next(_ questions: Questions, _ wake: Moment, _ now: Moment, _ random: inout SeededGenerator) -> Moment
    {
        switch questions {
        case .wakesOnly: wake
        case .eachMillisecond: now.advanced(byNanoseconds: 1_000_000)
        case .eachSevenMilliseconds: now.advanced(byNanoseconds: 7_000_000)
        case .random: min(wake, now.advanced(byNanoseconds: .random(in: 1...3_000_000, using: &random)))
        }
    }

    @Test(arguments: [2_000_000, 8_000_000])
    func `takes as long behind a shared rate, whenever its link is asked`(rate: Int64) {
        for seed in 1...3 as ClosedRange<UInt64> {
            let times = Questions.allCases.map { questions in
                var random = SeededGenerator(seed: seed)
                var pump = pump([Self.shared(rate), Self.loss(1, burst: 4, .cubic)], seed: seed)
                while true {
                    let wake = pump.settle()
                    if pump.link.delivered >= 1_000_000 { return Double(pump.now.nanoseconds) / 1e9 }
                    pump.now = next(questions, wake, pump.now, &random)
                }
            }
            #expect(times.allSatisfy { abs($0 - times[0]) < times[0] * 0.03 + 0.007 }, "\(times), seed \(seed)")
        }
    }

    @Test(arguments: links)
    func `sends the same packets at the same times, whenever its link is asked`(faults: [FaultKind]) {
        for seed in 1...2 as ClosedRange<UInt64> {
            let expected = progress(faults, seed: seed, .wakesOnly)
            #expect(expected.last ?? 0 > 50_000)
            for questions in Questions.allCases {
                #expect(progress(faults, seed: seed, questions) == expected, "\(questions), seed \(seed)")
            }
        }
    }
}
