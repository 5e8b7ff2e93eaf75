import OperatingSystem
import Testing
import Units

struct EndSignalsTests {
    @Test func `a signal soon after the first belongs to it, and a later one is the second`() {
        var signals = EndSignals()
        let meanings = [0, 0, 1, 999, 1_000, 1_001].map { signals.next(at: .zero + .milliseconds(5_000 + $0)) }
        #expect(meanings == [.first, .repetition, .repetition, .repetition, .second, .second])
    }
}
