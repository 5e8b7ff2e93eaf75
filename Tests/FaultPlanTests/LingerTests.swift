import FaultPlan
import Testing
import Units

@Suite("The last end of a connection")
struct LingerTests {
    private let limits = DrainLimits()

    private func verdicts(_ linger: inout Linger, _ looks: [(seconds: Int64, remaining: Int)]) -> String {
        looks.map { linger.verdict(remaining: $0.remaining, at: .seconds($0.seconds)) == .done ? "done" : "wait" }
            .joined(separator: " ")
    }

    @Test(arguments: [Linger.Goal.acknowledgement, .acceptance])
    func `has ten seconds from the last byte that it took`(goal: Linger.Goal) {
        var linger = Linger(goal, limits, remaining: 100, at: .zero)
        #expect(verdicts(&linger, [(9, 100), (9, 60), (18, 60), (19, 60)]) == "wait wait wait done")
    }

    @Test func `is reset at once when it has acknowledged everything`() {
        var linger = Linger(.acknowledgement, limits, remaining: 100, at: .zero)
        #expect(verdicts(&linger, [(0, 100), (0, 0)]) == "wait done")
    }

    @Test func `is closed when it has closed, or five seconds later`() {
        var patient = Linger(.closure, limits, remaining: 0, at: .zero)
        #expect(verdicts(&patient, [(0, 0), (4, 0), (5, 0)]) == "wait wait done")
        var closed = Linger(.closure, limits, remaining: 0, at: .zero)
        #expect(verdicts(&closed, [(0, 0)]) == "wait")
        closed.peerEnded()
        #expect(verdicts(&closed, [(0, 0)]) == "done")
    }

    @Test(arguments: Linger.Goal.allCases)
    func `may send so many bytes in vain, and no more`(goal: Linger.Goal) {
        let limit = goal == .closure ? limits.closeDropLimit : limits.resetDropLimit
        var linger = Linger(goal, limits, remaining: 100, at: .zero)
        linger.discard(limit)
        #expect(verdicts(&linger, [(0, 100)]) == "wait")
        linger.discard(1)
        #expect(verdicts(&linger, [(0, 100)]) == "done")
    }

    @Test func `is given the bytes again when it takes some`() {
        var linger = Linger(.acceptance, limits, remaining: 100, at: .zero)
        linger.discard(limits.resetDropLimit)
        #expect(verdicts(&linger, [(0, 99)]) == "wait")
        linger.discard(limits.resetDropLimit)
        #expect(verdicts(&linger, [(0, 99)]) == "wait")
    }

    @Test func `is looked at after 100 µs, and twice as long each time, up to 20 ms`() {
        var linger = Linger(.acknowledgement, limits, remaining: 100, at: .zero)
        #expect(linger.isFirstLook)
        let pauses = (0..<10).map { _ in linger.nextLook(after: .zero).nanoseconds / 1_000 }
        #expect(pauses == [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000, 20_000])
        #expect(!linger.isFirstLook)
    }
}
