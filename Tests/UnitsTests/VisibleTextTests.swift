import Testing
import Units

@Suite struct VisibleTextTests {
    @Test(arguments: [
        ("plain “text”, é😀", "plain “text”, é😀"), ("a\u{1B}[31m", "a\\u{1b}[31m"),
        ("\u{0}\u{7F}\u{80}\u{9F}", "\\u{0}\\u{7f}\\u{80}\\u{9f}"),
        ("a\u{202E}b\u{2066}c\u{200B}", "a\\u{202e}b\\u{2066}c\\u{200b}"), ("a\u{2028}b\r", "a\\u{2028}b\\u{d}"),
        ("a\u{E0001}", "a\\u{e0001}"),
    ])
    func `characters that a terminal acts on become visible`(text: String, shown: String) {
        #expect(text.visibleLine == shown)
        #expect(text.visibleLines == shown)
        #expect(text.shortened(to: 100) == shown)
    }

    @Test func `line feeds and tabs stay in lines alone`() {
        #expect("a\n\tb\r\n".visibleLines == "a\n\tb\\u{d}\n")
        #expect("a\n\tb".visibleLine == "a\\u{a}\\u{9}b")
    }

    @Test func `JSON gets its own escapes`() {
        #expect("{\"a\":\"é\u{7F}\u{9B}\u{202E}\u{E0001}\"}".visibleJSON == #"{"a":"é\u007f\u009b\u202e\udb40\udc01"}"#)
    }
}
