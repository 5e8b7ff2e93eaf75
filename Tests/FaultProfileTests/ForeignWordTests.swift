import Testing

@testable import FaultProfile

/// The words of other tools.
@Suite struct ForeignWordTests {
    @Test(arguments: ForeignWords.kinds.map(\.remedy))
    func `a suggested fault can be read`(fault: String) {
        #expect(problems(fault: "{ \(fault) }") == [])
    }

    @Test func `a word for a kind leads to one kind, and to another than its own`() {
        let words = (ForeignWords.kinds + ForeignWords.withoutFault).flatMap { $0.words.split(separator: " ") }
        #expect(words.count == Set(words).count)
        #expect(words.allSatisfy { ForeignWords.plain(String($0)) == $0 })
    }

    @Test func `a word for a key belongs to objects that don't have the key`() throws {
        let shapes = ObjectShape.objects + FaultKind.Name.allCases.map(\.shape)
        for entry in ForeignWords.keys {
            for object in entry.objects {
                let shape = try #require(shapes.first { $0.definition == object }, "no object \(object)")
                let keys = shape.keys.map(\.name)
                for word in entry.words.split(separator: " ") where keys.contains(String(word)) {
                    Issue.record("\(object) has the key \(word)")
                }
            }
        }
    }

    @Test(arguments: ["Reset-Peer", "reset_peer", "RESETPEER"])
    func `words are compared without letter case, dashes and underscores`(word: String) {
        let found = problems(fault: "{ \"kind\": \"\(word)\" }")
        #expect(found.count == 1)
        #expect(found.first?.contains("“\"kind\": \"cut\"") == true)
    }

    @Test func `what a fault has outside of when is moved as it is, on one line and shortened`() {
        let long = String(repeating: "a", count: 100)
        for (value, shown) in [
            ("3", "3"), ("\"1..2\"", "\"1..2\""), ("true", "true"), ("[ 1 ]", "…"),
            ("\"\\n\\u001b\"", "\"\\\\u{a}\\\\u{1b}\""), ("\"\(long)\"", "\"\(long.prefix(40))…\""),
        ] {
            let found = problems(fault: "{ \"kind\": \"cut\", \"at\": \"1 B\", \"client\": \(value) }")
            let moved = "(move it into “when”: “\"when\": { \"client\": \(shown) }”)"
            #expect(found == ["2:31: a cut fault has no key “client” \(moved)"])
        }
    }

    @Test(arguments: [
        ("a: 1", true), ("---\na", true), ("\n # c\n- kind: x", true), ("name:", true), ("{ a: 1 }", false),
        ("x", false),
        ("", false), ("a:b", false), ("- x", false),
    ])
    func `YAML is told from other texts by its first line`(text: String, isYAML: Bool) {
        #expect(YAMLText.isMeant(by: ProfileSource(file: "p.json", text: text)) == isYAML)
    }

    @Test func `a name is answered with the nearest ones, three at most`() {
        let known = ["slow-3g", "nlc-3g", "wpt-3g", "atc-3g", "elevator"]
        #expect(ProfileNames.unknown("elevater", among: known).remedy == "did you mean “elevator”?")
        let several = ProfileNames.unknown("3G", among: known).remedy
        #expect(several == "did you mean “slow-3g”, “nlc-3g” or “wpt-3g”?")
        #expect(ProfileNames.unknown("x", among: known).remedy.hasPrefix("squall profiles lists them"))
    }

    @Test func `a pointer leads to a key, a value and the whole`() throws {
        let text = "{ \"a\": [ 1,\n { \"b/~\": true } ] }"
        let node = try ProfileReader.document(ProfileSource(file: "p", text: text), limit: 1_000)
        #expect(node.pointer(toLine: 1, column: 1) == "")
        #expect(node.pointer(toLine: 1, column: 3) == "/a")
        #expect(node.pointer(toLine: 1, column: 10) == "/a/0")
        #expect(node.pointer(toLine: 2, column: 4) == "/a/1/b~1~0")
        #expect(node.pointer(toLine: 2, column: 11) == "/a/1/b~1~0")
        #expect(node.pointer(toLine: 1, column: 2) == nil)
    }
}
