import Testing

@testable import Units

@Suite struct SpellingTests {
    @Test(arguments: [
        ("bandwith", ["bandwidth"]), ("BANDWIDTH", ["bandwidth"]), ("cutt", ["cut"]), ("tuc", []),
        ("latnecy", ["latency"]),
        ("banana", []), ("", []),
    ])
    func `only a near word is suggested`(word: String, nearest: [String]) {
        #expect(Spelling.nearest(to: word, among: ["latency", "bandwidth", "cut", "stall", "outage"]) == nearest)
    }

    @Test(arguments: [
        ("", "", 0), ("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("kitten", "sitting", 3),
        ("abcdefgh", "habcdefg", 2),
    ])
    func `the edit distance counts insertions, deletions, replacements and swaps`(
        left: String,
        right: String,
        distance: Int
    ) {
        for (left, right) in [(left, right), (right, left)] {
            for limit in distance...distance + 5 {
                #expect(Spelling.editDistance(from: left, to: right, limit: limit) == distance)
            }
            for limit in 0..<distance { #expect(Spelling.editDistance(from: left, to: right, limit: limit) == nil) }
        }
    }

    @Test func `a word longer than any known one is not compared`() {
        #expect(
            Spelling.nearest(to: String(repeating: "a", count: 65), among: [String(repeating: "a", count: 64)]) == []
        )
    }

    @Test func `a quoted text stays on one line and is cut at 40 characters`() {
        #expect("a\nb\u{2028}c\u{202E}".quoted == "“a\\u{a}b\\u{2028}c\\u{202e}”")
        #expect(String(repeating: "x", count: 41).quoted == "“" + String(repeating: "x", count: 40) + "…”")
    }
}
