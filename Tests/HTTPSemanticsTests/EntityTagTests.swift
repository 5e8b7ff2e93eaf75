import HTTPSemantics
import Testing

@Suite struct EntityTagTests {
    @Test(arguments: ["\"a\"", "W/\"a\"", "\"\"", "W/\"\"", "\"a,b\"", "\"!#~\"", "\"W/\"", "\"é\""])
    func `a tag is read and written alike`(_ text: String) {
        #expect(EntityTag(text)?.headerValue == text)
    }

    @Test(
        arguments: [
            "", "a", "\"", "\"a", "a\"", "w/\"a\"", "W/a", "W/", "W\"a\"", "\"a\" ", " \"a\"", "\"a\"b\"",
            "\"a b\"", "\"a\u{7F}\"", "\"a\u{0}\"", "\"a\", \"b\"", "*", "\"a\u{FFFD}\"", "W/ \"a\"",
        ]
    )
    func `an invalid tag is refused`(_ text: String) {
        #expect(EntityTag(text) == nil)
    }

    // The table of RFC 9110, section 8.8.3.2.
    @Test(
        arguments: [
            ("W/\"1\"", "W/\"1\"", false, true), ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "W/\"1\"", false, true), ("\"1\"", "\"1\"", true, true),
            ("\"1\"", "\"2\"", false, false),
        ]
    )
    func `tags match as the table says`(_ left: String, _ right: String, _ strongly: Bool, _ weakly: Bool) throws {
        let left = try #require(EntityTag(left))
        let right = try #require(EntityTag(right))
        #expect(left.matchesStrongly(right) == strongly)
        #expect(left.matchesWeakly(right) == weakly)
    }

    @Test func `a weak tag never matches strongly, not even itself`() throws {
        let tag = try #require(EntityTag("W/\"1\""))
        #expect(!tag.matchesStrongly(tag))
        #expect(tag == tag)
    }

    @Test func `two spellings of one letter are two tags`() throws {
        let composed = try #require(EntityTag("\"\u{E9}\""))
        let decomposed = try #require(EntityTag("\"e\u{301}\""))
        #expect(composed.opaque == decomposed.opaque)
        #expect(composed != decomposed)
        #expect(!composed.matchesWeakly(decomposed))
        #expect(Set([composed, decomposed]).count == 2)
    }

    @Test(
        arguments: [
            ("\"a\"", ["\"a\""]), ("\"a\", W/\"b\"", ["\"a\"", "W/\"b\""]), ("\"a\",\"b\"", ["\"a\"", "\"b\""]),
            (" , \"a\" ,, \t\"b,c\" , ", ["\"a\"", "\"b,c\""]),
        ]
    )
    func `a list of tags is split at the commas outside of the quotes`(_ text: String, _ tags: [String]) {
        #expect(EntityTagCondition(text) == .oneOf(tags.compactMap { EntityTag($0) }))
    }

    @Test(arguments: ["*", " * ", "\t*"])
    func `a star is any tag`(_ text: String) {
        #expect(EntityTagCondition(text) == .any)
    }

    @Test(arguments: ["", " ", ",", ",,", "nope", "\"a\" \"b\"", "\"a\", *", "*, \"a\"", "**", "\"a\", b", "\"a\", \""])
    func `a list with anything else in it is no list`(_ text: String) {
        #expect(EntityTagCondition(text) == nil)
    }
}
