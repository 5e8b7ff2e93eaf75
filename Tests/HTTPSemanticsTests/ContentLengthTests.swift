import HTTPSemantics
import Testing

@Suite struct ContentLengthTests {
    @Test(arguments: [("0", 0), ("2", 2), ("2 ", 2), (" \t2\t ", 2), ("007", 7), ("9223372036854775807", Int64.max)])
    func `digits are a length, whatever space is around them`(value: String, length: Int64) {
        #expect(ContentLength.parse(value) == length)
    }

    @Test(arguments: ["", " ", "+2", "-2", "2, 2", "2 2", "0x2", "2.0", "2\u{A0}", "\u{662}", "9223372036854775808"])
    func `everything else is none`(value: String) {
        #expect(ContentLength.parse(value) == nil)
    }
}
