import Glibc
import OperatingSystem
import Testing
import Units

struct EndSignalsTests {
    @Test func `a signal soon after the first belongs to it, and a later one is the second`() {
        var signals = EndSignals()
        let meanings = [0, 0, 1, 999, 1_000, 1_001].map { signals.next(SIGTERM, at: .zero + .milliseconds(5_000 + $0)) }
        #expect(meanings == [.first, .repetition, .repetition, .repetition, .second, .second])
    }

    @Test(arguments: [500, 5_000]) func `a SIGTERM behind a SIGHUP is a first one`(milliseconds: Int) {
        var signals = EndSignals()
        #expect(signals.next(SIGHUP, at: .zero) == .first)
        let now = Moment.zero + .milliseconds(milliseconds)
        #expect(signals.next(SIGTERM, at: now) == .first)
        #expect(signals.next(SIGHUP, at: now) == .repetition)
        #expect(signals.next(SIGTERM, at: now + EndSignals.interval) == .second)
    }
}
