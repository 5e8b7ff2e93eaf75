import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("A virtual sender")
struct VirtualSenderTests {
    /// A sender that takes the short way for acknowledgements where it may, beside one that never does.
    @Test(arguments: [Loss.Sender.reno, .cubic], [0.0005, 0.01])
    func `takes acknowledgements the same in a short way and a long one`(kind: Loss.Sender, rate: Double) throws {
        let loss = Loss(
            rate: try #require(Probability(rate)),
            roundTrip: .milliseconds(20),
            sender: kind,
            link: BitRate(bitsPerSecond: 100_000_000)
        )
        var short = VirtualSender(loss, key: RandomKey(seed: 3), losing: [.packets, .acknowledgements])
        var long = short
        short.begin(at: 0, now: 0)
        long.begin(at: 0, now: 0)
        var (wanted, differences, plainCalls) = (Int64(0), 0, 0)
        for step in 1...20_000 {
            // For a second in turn 10 Mbit/s, and all that the window lets out.
            let now = Int64(step) * 500_000
            let isLimited = step / 2_000 % 2 == 0
            wanted = isLimited ? max(wanted, short.next) + 625 : max(wanted, short.next + 1_000_000)
            if short.holes.isEmpty, short.flight.start >= short.plainStart, short.phase == .open { plainCalls += 1 }
            long.plainStart = .max
            (short.firstLoss, long.firstLoss) = (nil, nil)
            let due = short.deliver(upTo: wanted, of: wanted, now: now, since: now)
            let otherDue = long.deliver(upTo: wanted, of: wanted, now: now, since: now)
            let isSame =
                due == otherDue && short.firstLoss == long.firstLoss && short.released == long.released
                && short.windowBytes == long.windowBytes
            if !isSame { differences += 1 }
        }
        #expect(differences == 0)
        #expect(plainCalls > 1_000, "the short way is taken")
        #expect(short.released > 5_000_000)
    }

    /// A plan knows of all bytes of a file, a run only of those that wait in front of the proxy.
    @Test(arguments: [Loss.Sender.reno, .cubic, .bbr])
    func `sends nothing that an outage keeps out`(kind: Loss.Sender) throws {
        let loss = Loss(
            rate: try #require(Probability(0)),
            roundTrip: .milliseconds(8),
            sender: kind,
            link: BitRate(bitsPerSecond: 60_000_000)
        )
        /// The bytes sent by each millisecond, where `waiting` bytes wait and none of them enters from 200 to 400 ms.
        func course(waiting: Int64) -> [Int64] {
            var sender = VirtualSender(loss, key: RandomKey(seed: 3), losing: [.packets])
            sender.begin(at: 0, now: 0)
            var entered: Int64 = 0
            return (0..<600).map { millisecond in
                let isOut = (200..<400).contains(millisecond)
                let available = isOut ? entered : entered + waiting
                let now = Int64(millisecond) * 1_000_000
                _ = sender.deliver(upTo: available, of: available, now: now, since: now)
                if !isOut { entered = max(entered, sender.next + 100_000) }
                return sender.next
            }
        }
        let (planned, ran) = (course(waiting: 10_000_000), course(waiting: 300_000))
        #expect(planned[399] <= planned[199] + 110_000)
        #expect(planned == ran)
        #expect(planned[599] > planned[399] + 1_000_000)
    }

    @Test func `has timers that fire at ticks, wherever in one they were set`() throws {
        let loss = Loss(rate: try #require(Probability(0.01)), roundTrip: .milliseconds(20))
        var sender = VirtualSender(loss, key: RandomKey(seed: 3), losing: [.packets])
        let times = (0..<Int64(1_000)).map { packet in
            sender.unacknowledged = packet * VirtualSender.segment
            return sender.inTicks(7_000_000)
        }
        #expect(times.allSatisfy { (8_000_000..<12_000_000).contains($0) })
        #expect(Set(times).count > 900)
        // 200 ms are whole ticks.
        #expect((200_000_000..<204_000_000).contains(sender.inTicks(200_000_000)))
    }
}
