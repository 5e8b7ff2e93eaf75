import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

@Suite("What a link remembers of messages")
struct MessageMemoryTests {
    /// A final response, of so many bytes at an offset.
    private func note(_ link: inout Link, _ request: Int64, at offset: Int64, _ count: Int64) {
        let message = Message(request: request, method: "GET", target: "/", status: 200)
        link.note(.message(message, at: offset))
        link.note(.end(at: offset + count))
    }

    @Test
    func `takes its share of the bytes that the link may hold, and gives it back`() {
        let stall = Fault(
            name: "stall",
            stream: .downstream,
            kind: .stall(Stall(at: ByteCount(20), base: .message, duration: .seconds(1)))
        )
        var admitter = Admitter.of(.of([.latency(.seconds(1)), stall]), holdLimit: ByteCount(64 * 1_000))
        var link = admitter.accept(at: .zero).downstream
        var count: Int64 = 0
        while link.hasRoom {
            note(&link, count + 1, at: count * 20, 20)
            link.bytesArrived(20)
            _ = link.decide(available: 0, now: .zero)
            count += 1
        }
        // 64 bytes for each of them, and their own 20.
        #expect(count == 64 * 1_000 / 84 + 1)
        #expect(link.decide(available: 1_000, now: .zero).readLimit == 0)
        #expect(link.rememberedPositions == count)
    }

    @Test
    func `is nothing of what passed while a fault was off`() {
        let stall = Fault(
            name: "stall",
            stream: .downstream,
            kind: .stall(Stall(at: .zero, base: .message, duration: .seconds(1)))
        )
        var admitter = Admitter.of(.of([], phases: [.lasting(.seconds(10)), .lasting(.seconds(10), stall)]))
        var link = admitter.accept(at: .zero).downstream
        for number in 0..<1_000 as Range<Int64> {
            note(&link, number + 1, at: number * 20, 20)
            link.bytesArrived(20)
            #expect(link.decide(available: 0, now: .zero).writeOffset == (number + 1) * 20)
            link.bytesDelivered(20)
            _ = link.decide(available: 0, now: .zero)
            #expect(link.rememberedPositions <= 1)
        }
    }

    @Test
    func `is one position of a message, although its body begins twice at one place`() {
        let stall = Fault(
            name: "stall",
            stream: .downstream,
            kind: .stall(Stall(at: .zero, base: .body, duration: .seconds(1)))
        )
        var admitter = Admitter.of(.of([stall]))
        var link = admitter.accept(at: .zero).downstream
        link.note(.message(Message(request: 1, method: "GET", target: "/", status: 200), at: 0))
        link.note(.body(offset: 0, at: 50, count: 0))
        link.note(.body(offset: 0, at: 50, count: 10))
        link.note(.end(at: 60))
        link.bytesArrived(60)
        #expect(link.decide(available: 0, now: .zero).writeOffset == 50)
        link.bytesDelivered(50)
        #expect(link.decide(available: 0, now: .zero).wake == .seconds(1))
        #expect(link.decide(available: 0, now: .seconds(1)).writeOffset == 60)
        #expect(link.takeEvents().count == 1)
    }
}

extension Link {
    /// The number of messages remembered by faults that change bytes.
    var rememberedMessages: Int { faults.first?.alterSlots.reduce(0) { $0 + ($1.gate?.count ?? 0) } ?? 0 }

    /// The number of positions and messages that stages remember.
    var rememberedPositions: Int { faults.first?.rememberedPositions ?? 0 }

    /// The number of positions whose bytes haven't arrived.
    var waitingMarks: Int { faults.first?.marks.waiting ?? 0 }
}
