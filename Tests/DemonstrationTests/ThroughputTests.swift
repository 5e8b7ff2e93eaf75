import Testing
import Units

@testable import Demonstration

/// What the chart of a demo is drawn from.
struct ThroughputTests {
    @Test func `rates are means over columns, and a late sample loses no byte`() {
        var history = ThroughputHistory()
        history.reached(1_000, at: .seconds(1))
        history.reached(1_000, at: .seconds(2))
        history.reached(500, at: .seconds(3))
        history.reached(4_000, at: .seconds(4))
        #expect(history.rates(4, over: .seconds(4)) == [1_000, 0, 0, 3_000])
        #expect(history.rates(2, over: .seconds(4)) == [500, 1_500])
        #expect(history.rates(8, over: .seconds(8)) == [1_000, 0, 0, 3_000], "the rest hasn't begun")
        #expect(history.quiet == .zero && history.movedAt == .seconds(4))
        for second in 5..<20_000 as Range<Int64> { history.reached(4_000, at: .seconds(second)) }
        #expect(history.count <= ThroughputHistory.limit)
        #expect((history.rate(from: .zero, until: history.end) * 19_999).rounded() == 4_000)
    }

    @Test(arguments: [
        (0.0, 0.0), (10_000_000, 80e6), (10_700_000, 80e6), (11_000_000, 100e6), (1_400_000, 15e6), (100, 800),
    ])
    func `the scale is a round rate`(bytesPerSecond: Double, bits: Double) {
        #expect((ThroughputChart.scale(bytesPerSecond) * 8).rounded() == bits)
    }
}
