import NIOCore
import ResumableUploads
import Testing

@testable import OriginServer

/// The minimum rate of request content, as a value. Times are in seconds.
@Suite struct ThroughputMonitorTests {
    private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

    private static let rule = ThroughputMonitor(rate: 100, window: .seconds(10))

    @Test func `without a byte the client has one window`() {
        var rule = Self.rule
        rule.waitBegan(at: Self.at(5))
        #expect(rule.deadline == Self.at(15))
        #expect(rule.isTooSlow(at: Self.at(15) - .nanoseconds(1)) == false)
        #expect(rule.isTooSlow(at: Self.at(15)) == true)
    }

    @Test func `time in which the server doesn't wait doesn't count`() {
        var rule = Self.rule
        rule.waitBegan(at: Self.at(0))
        rule.bytesArrived(1, at: Self.at(4))
        #expect(rule.deadline == nil)
        #expect(rule.isTooSlow(at: Self.at(1_000)) == false)
        rule.waitBegan(at: Self.at(1_000))
        #expect(rule.deadline == Self.at(1_006))
        #expect(rule.isTooSlow(at: Self.at(1_006)) == true)
    }

    @Test(arguments: [(999, true), (1_000, false)])
    func `the bytes of a window decide, and the next begins with none`(bytes: Int, isTooSlow: Bool) {
        var rule = Self.rule
        rule.waitBegan(at: Self.at(0))
        rule.bytesArrived(bytes, at: Self.at(1))
        rule.waitBegan(at: Self.at(1))
        #expect(rule.isTooSlow(at: Self.at(10)) == isTooSlow)
        #expect(rule.deadline == Self.at(20))
        #expect(rule.isTooSlow(at: Self.at(20)) == true)
    }
}
