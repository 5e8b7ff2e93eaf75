import HTTPSemantics
import Testing

@Suite struct RetryAfterTests {
    @Test(
        arguments: [
            ("0", 0), ("120", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 60), ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("-1", nil), ("1.5", nil), ("soon", nil), ("", nil), (" 1", nil), ("99999999999999999999", 1 << 31),
            ("2147483649", 1 << 31),
        ] as [(String, Int64?)]
    )
    func `Retry-After is seconds or a date`(value: String, seconds: Int64?) {
        #expect(RetryAfter.delay(value, now: 784_111_717) == seconds.map { .seconds($0) })
    }

    @Test func `a clock at either end of its range gives the longest wait, or none`() {
        #expect(RetryAfter.delay("Sun, 06 Nov 1994 08:49:37 GMT", now: .min) == .seconds(1 << 31))
        #expect(RetryAfter.delay("Sat, 01 Jan 0000 00:00:00 GMT", now: .max) == .zero)
    }
}
