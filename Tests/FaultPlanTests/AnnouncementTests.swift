import SimulatedLink
import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

/// The journal has one line for each time that a fault acts on something new.
@Suite("What the journal is told of a fault that comes and goes")
struct AnnouncementTests {
    private static let duty = Condition(duty: DutyCycle(on: .milliseconds(1), off: .milliseconds(1)))

    @Test
    func `is one line while the stream stands still, however often the fault comes on`() {
        let outage = Fault.outage(.silence, recovery: .tcpBackoff(roundTrip: nil)).when(Self.duty)
        var simulation = LinkSimulation(.with(outage), arrivals: [.init(at: .zero, bytes: 5)])
        simulation.run(until: .milliseconds(190))
        #expect(simulation.deliveries == [], "the sender doesn't try again before 180 ms have passed")
        #expect(simulation.events == [FaultEvent(fault: 0, offset: nil, effect: .silences)])
    }

    @Test(arguments: [
        FaultKind.bandwidth(Bandwidth(rate: BitRate(bitsPerSecond: 8))),
        .slowReader(SlowReader(rate: BitRate(bitsPerSecond: 8))),
        .trace(Trace(file: "x", opportunities: [1_000_000])),
        .latency(Latency(delay: .seconds(1))),
        .slice(Slice(size: ByteCount(1), pause: .seconds(1))),
    ])
    func `is one line for bytes that nobody takes`(kind: FaultKind) {
        var link = Link.with(Fault(name: "it", condition: Self.duty, kind: kind))
        var lines = 0
        for tick in 0..<40 as Range<Int64> {
            _ = link.decide(available: 10, now: Moment(nanoseconds: tick * 1_000_000))
            lines += link.takeEvents().count
        }
        #expect(lines == 1)
    }

    @Test
    func `is another line once the stream has moved`() {
        var announcement = Announcement()
        var told: [Bool] = []
        for position in [0, 0, 7, 7, 9] as [Int64] {
            told.append(announcement.begin(at: position))
            let again = announcement.begin(at: position + 1)
            #expect(!again, "it is on already")
            announcement.end(at: position)
        }
        #expect(told == [true, false, true, false, true])
    }
}
