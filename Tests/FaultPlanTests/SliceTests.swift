import FaultProfile
import SimulatedLink
import Testing
import Units

@testable import FaultPlan

@Suite("Slice")
struct SliceTests {
    private func fault(_ size: Int64, spread: Int64 = 0, pause: Duration = .zero) -> Fault {
        let slice = Slice(size: ByteCount(size), spread: ByteCount(spread), pause: pause)
        return Fault(name: "slice", kind: .slice(slice))
    }

    /// The sizes of the writes that a link makes of `bytes` that come at once.
    private func writes(_ link: Link, bytes: Int64, readSize: Int64 = 1 << 20) -> [Int64] {
        var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: bytes)], readSize: readSize)
        simulation.run()
        let offsets = simulation.deliveries.map(\.offset)
        return zip(offsets, [0] + offsets).map { $0 - $1 }
    }

    @Test
    func `lets a slice out, pauses, and lets the next one out`() {
        #expect(timeline(of: .with(fault(3, pause: .milliseconds(2))), arrivals: "8-----|") == "3-3-2-|")
        #expect(timeline(of: .with(fault(3, pause: .milliseconds(2))), arrivals: "(6|)") == "3-(3|)")
    }

    @Test
    func `pauses from the last byte of a slice, however slowly that came`() {
        #expect(timeline(of: .with(fault(3, pause: .milliseconds(3))), arrivals: "1-1-12---|") == "1-1-1--2-|")
    }

    @Test
    func `makes no pause of a sender's own longer`() {
        #expect(timeline(of: .with(fault(2, pause: .milliseconds(2))), arrivals: "2---2---2|") == "2---2---2|")
    }

    @Test
    func `makes writes of its size alone where there is no pause`() {
        #expect(writes(.with(fault(400)), bytes: 1_700) == [400, 400, 400, 400, 100])
    }

    @Test
    func `draws sizes within the spread, both ends included, by position`() {
        let link = Link.with(fault(5, spread: 2))
        let sizes = writes(link, bytes: 10_000)
        #expect(Set(sizes.dropLast()) == [3, 4, 5, 6, 7])
        for size in 3...7 as ClosedRange<Int64> {
            #expect(abs(sizes.count { $0 == size } - sizes.count / 5) < 100)
        }
        #expect(writes(link, bytes: 10_000) == sizes)
        #expect(writes(.with(fault(5, spread: 2), seed: 2), bytes: 10_000) != sizes)
        // The same places, though the bytes came and were asked about otherwise.
        let paused = Link.with(fault(5, spread: 2, pause: .milliseconds(1)))
        #expect(writes(paused, bytes: 10_000) == sizes)
    }

    @Test(arguments: [1, 7, 1_000, 1 << 20] as [Int64])
    func `ends its slices at the same places whatever the sizes of reads`(readSize: Int64) {
        let link = Link.with(fault(300, spread: 250, pause: .milliseconds(1)))
        func ends(_ readSize: Int64) -> [Int64] {
            var simulation = LinkSimulation(link, arrivals: [.init(at: .zero, bytes: 20_000)], readSize: readSize)
            simulation.run()
            return simulation.lastOfEachMoment.map(\.offset)
        }
        #expect(ends(readSize) == ends(1 << 30))
    }

    @Test
    func `bounds writes behind a delay line as well, whose jitter brings slices together`() {
        let link = Link.with(fault(100, pause: .microseconds(10)), .latency(.milliseconds(5), jitter: .milliseconds(5)))
        let sizes = writes(link, bytes: 5_000)
        #expect(sizes == [Int64](repeating: 100, count: 50))
    }

    @Test
    func `bounds writes to a sink that was stuck`() {
        var pump = Pump(.with(fault(1_000)), waiting: 50_000)
        pump.sinkSize = 0
        pump.run(until: .seconds(1))
        #expect(pump.link.decide(available: 0, now: pump.now).writeOffset == 1_000)
        pump.sinkSize = 300
        pump.run(until: .seconds(2))
        #expect(pump.link.delivered == 50_000)
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `uses up no rate while it pauses`() {
        let link = Link.with(fault(1_000, pause: .milliseconds(10)), .bandwidth(bytesPerSecond: 1_000_000))
        var pump = Pump(link, waiting: nil)
        pump.run(until: .seconds(1))
        // A slice takes 1 ms by the rate and 10 by the pause.
        #expect((88_000...92_000).contains(pump.link.delivered))
        #expect(pump.violations.isEmpty)
    }

    @Test
    func `begins where the stream is when its phase does, and ends with it`() {
        let phases = [
            Phase.lasting(.milliseconds(2)),
            .lasting(.milliseconds(4), fault(2, pause: .milliseconds(2)), name: "cut up"),
            .lasting(nil, name: "free"),
        ]
        #expect(timeline(of: .with(phases: phases), arrivals: "5-9------|") == "5-2-2-5--|")
    }

    @Test
    func `acts when the first byte wants through, and tells no offset`() {
        var pump = Pump(.with(fault(10)), waiting: 0)
        pump.run(until: .seconds(1))
        #expect(pump.events.isEmpty)
        pump.waiting = 100
        pump.run(until: .seconds(2))
        #expect(pump.events == [FaultEvent(fault: 0, offset: nil, effect: .slices)])
    }

    @Test
    func `of the largest numbers overflows nothing`() {
        let largest = Int64.max
        var pump = Pump(.with(fault(largest, spread: largest - 1, pause: .nanoseconds(largest))), waiting: 100_000)
        pump.end = .finish
        pump.run(until: .seconds(10))
        #expect(pump.ended == .finish)
    }
}
