import FaultProfile
import Testing
import Units

@testable import FaultPlan

/// The bytes that a chance acts, and what it costs to pass by those that it doesn't.
@Suite("Bytes that are struck at a rate")
struct RandomOffsetsTests {
    private static let key = RandomKey(seed: 9)

    @Test(arguments: [Probability.always, .percent(50), .percent(1), .percent(0.001)])
    func `are the same whether they are walked to or skipped to`(rate: Probability) {
        var walker = RandomOffsets(rate, key: Self.key)
        var offsets: [Int64] = []
        for _ in 0..<5_000 {
            offsets.append(walker.next)
            walker.advance()
        }
        #expect(zip(offsets, offsets.dropFirst()).allSatisfy { $0 < $1 })
        for index in stride(from: 0, to: 4_999, by: 97) {
            var jumper = RandomOffsets(rate, key: Self.key)
            jumper.skip(to: offsets[index] + 1)
            #expect(jumper.next == offsets[index + 1])
        }
    }

    @Test(arguments: [Probability.always, .percent(1), .percent(0.000_001)])
    func `cost no more than a block to skip, however many they are`(rate: Probability) {
        var bytes = RandomOffsets(rate, key: Self.key)
        bytes.skip(to: 1 << 60)
        #expect(bytes.next >= 1 << 60)
        #expect(bytes.draws < 3_000)
        bytes.skip(to: .max)
        #expect(bytes.next == .max && bytes.draws < 6_000)
    }

    @Test
    func `cost a link next to nothing while their fault is off`() {
        let late = Fault.corrupt(.rate(.percent(50))).when(Condition(ageFrom: .seconds(10)))
        var link = Link.with(late)
        for _ in 0..<1_000 {
            let early = link.nextAlteration(of: 1 << 30, now: .zero)
            #expect(early == nil)
            link.bytesArrived(1 << 30)
            link.bytesDelivered(1 << 30)
        }
        #expect(link.work() < 5_000)
        let due = link.nextAlteration(of: 1_000, now: .seconds(10))
        #expect(due != nil)
    }
}
