import HTTPSemantics
import Testing

@Suite struct ByteRangeTests {
    /// The selection of a `Range` field in `length` bytes; `nil` when the field must be ignored.
    private func selection(_ field: String, of length: Int64) -> ByteRangeSelection? {
        ByteRangeRequest(field)?.selection(ofLength: length)
    }

    @Test(
        arguments: [
            ("bytes=0-99", Int64(0), Int64(99)), ("bytes=0-0", 0, 0), ("bytes=999-999", 999, 999),
            ("bytes=100-", 100, 999), ("bytes=0-", 0, 999), ("bytes=990-5000", 990, 999),
            ("bytes=-500", 500, 999), ("bytes=-1", 999, 999), ("bytes=-1000", 0, 999), ("bytes=-5000", 0, 999),
            ("BYTES=5-6", 5, 6), ("bytes= 5-6 ", 5, 6), ("bytes=,5-6,", 5, 6), ("bytes=005-0006", 5, 6),
            ("bytes=1-99999999999999999999999", 1, 999), ("bytes=-99999999999999999999999", 0, 999),
        ]
    )
    func `a range that can be satisfied selects its part`(_ field: String, _ first: Int64, _ last: Int64) {
        #expect(selection(field, of: 1_000) == .part(first: first, last: last))
    }

    @Test(
        arguments: [
            "bytes=1000-", "bytes=1000-1000", "bytes=99999999-", "bytes=-0", "bytes=99999999999999999999999-",
            "bytes=1000-99999999999999999999999",
        ]
    )
    func `a range behind the end can't be satisfied`(_ field: String) {
        #expect(selection(field, of: 1_000) == .unsatisfiable)
    }

    @Test(
        arguments: [
            "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=20-10", "bytes=abc", "bytes=0-x", "bytes=x-0",
            "lines=0-5", "bytes 0-5", "bytes =0-5", "bytes=0 -5", "bytes=0- 5", "bytes=--5", "bytes=-5-",
            "bytes=0-5-6", "bytes=+1-5", "bytes=0x1-5", "bytes=1.5-2", "0-5", "bytes=0-1,5-x", "bytes=٠-٥",
            "bytes=0-5;q=1", "bytes=0-5 6-7", "bytes=0-1, bytes=2-3", "bytes=9-8,0-1",
        ]
    )
    func `a range in other units is ignored`(_ field: String) {
        #expect(ByteRangeRequest(field) == nil)
    }

    @Test(arguments: ["bytes=0-1,5-6", "bytes=0-1, 2-3", "bytes=0-1,99999-", "bytes=99999-,88888-"])
    func `several ranges get the full representation`(_ field: String) {
        #expect(ByteRangeRequest(field)?.specifiers.count == 2)
        #expect(selection(field, of: 1_000) == .complete)
    }

    @Test(
        arguments: [
            ("bytes=0-", ByteRangeSelection.unsatisfiable), ("bytes=0-0", .unsatisfiable), ("bytes=-0", .unsatisfiable),
            ("bytes=-1", .complete), ("bytes=-500", .complete),
        ]
    )
    func `nothing of an empty file can be selected`(_ field: String, _ expected: ByteRangeSelection) {
        #expect(selection(field, of: 0) == expected)
    }

    @Test func `the longest file has a last byte`() {
        #expect(selection("bytes=0-", of: .max) == .part(first: 0, last: .max - 1))
        #expect(selection("bytes=-9223372036854775807", of: .max) == .part(first: 0, last: .max - 1))
    }
}

@Suite struct ContentRangeTests {
    @Test(
        arguments: [
            ("bytes 0-99/1000", ContentRange.bytes(first: 0, last: 99, total: 1_000)),
            ("bytes 999-999/1000", .bytes(first: 999, last: 999, total: 1_000)),
            ("bytes 5-6/*", .bytes(first: 5, last: 6, total: nil)),
            ("bytes */1000", .unsatisfied(total: 1_000)), ("bytes */0", .unsatisfied(total: 0)),
        ]
    )
    func `a range is read and written alike`(_ text: String, _ range: ContentRange) {
        #expect(ContentRange(text) == range)
        #expect(range.headerValue == text)
    }

    @Test func `the unit may have any case`() {
        #expect(ContentRange("Bytes 0-1/2") == .bytes(first: 0, last: 1, total: 2))
    }

    @Test(
        arguments: [
            "", "bytes", "bytes ", "bytes 0-99", "bytes 0-99/", "bytes 0-99/99", "bytes 99-0/1000", "bytes */*",
            "bytes 1000000-999999/1000000", "bytes 0--1/0", "bytes=0-99/1000", "lines 0-99/1000", "0-99/1000",
            "bytes 0-99/1000 ", "bytes 0-99/1000x", "bytes -99/1000", "bytes 0-/1000", "bytes 0-99/-1",
            "bytes 0-9223372036854775808/*", "bytes 0-1/9223372036854775807", "bytes  0-1/2", "bytes 0-1/2, 3-4/5",
        ]
    )
    func `what makes no sense is refused`(_ text: String) {
        #expect(ContentRange(text) == nil)
    }
}
