import Testing

@testable import ProxyEngine

struct LoopTurnsTests {
    @Test func `loops take turns`() {
        var turns = LoopTurns(3, own: 1)
        #expect((0..<7).map { _ in turns.next() } == [0, 1, 2, 0, 1, 2, 0])
    }

    @Test(arguments: 1...8) func `two connections of this process wake no other loop`(count: Int) {
        var turns = LoopTurns(count, own: count - 1)
        for _ in 0..<20 {
            #expect(turns.next(here: 0, elsewhere: 0) == count - 1)
            #expect(turns.next(here: 1, elsewhere: 0) == count - 1)
        }
    }

    @Test(arguments: [1: [64], 2: [22, 42], 4: [10, 18, 18, 18], 8: [6, 9, 9, 8, 8, 8, 8, 8]])
    func `of many the listener's loop has half as many as each other`(count: Int, expected: [Int]) {
        var turns = LoopTurns(count, own: 0)
        var open = Array(repeating: 0, count: count)
        for _ in 0..<64 { open[turns.next(here: open[0], elsewhere: open[1...].reduce(0, +))] += 1 }
        #expect(open == expected)
    }
}
