import ProxyEngine
import Testing
import Units

@testable import ProxyRuntime

/// How often the problems of proxies are told.
@Suite struct WarningTests {
    @Test func `a busy machine is told once a minute, another problem once a second`() {
        let warnings = Warnings()
        func lines(_ event: ProxyEvent, _ seconds: [Int64]) -> [String?] {
            seconds.map { warnings.line(about: event, at: Moment(nanoseconds: $0 * 1_000_000_000)) }
        }
        let late = ProxyEvent.late(.milliseconds(61))
        #expect(lines(late, [1, 2, 30, 60]).map { $0 != nil } == [true, false, false, false])
        #expect(
            warnings.line(about: late, at: Moment(nanoseconds: 61_000_000_000))
                == "\(late) (and 3 times more since it was last told)"
        )
        let limit = ProxyEvent.connectionLimitReached(9)
        #expect(lines(limit, [1, 2, 3]) == ["\(limit)", "\(limit)", "\(limit)"])
    }
}
