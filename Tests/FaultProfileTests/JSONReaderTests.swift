import FaultProfile
import Testing

@Suite struct JSONReaderTests {
    @Test(arguments: [
        ("", "1:1: the file is empty (write a profile, such as { \"name\": \"my-profile\" })"),
        (" \n ", "2:2: the file is empty (write a profile, such as { \"name\": \"my-profile\" })"),
        ("{", "1:1: the object that begins here never ends (close it with “}”)"),
        ("{ \"name\": \"x\",", "1:1: the object that begins here never ends (close it with “}”)"),
        ("{ \"name\": [\"x\"", "1:11: the list that begins here never ends (close it with “]”)"),
        ("{ \"name\":", "1:10: the file ends where a value is due (add it)"),
        (
            "{ \"name\": }",
            "1:11: “}” stands where a value is due (write a text in double quotes, a number, true, "
                + "false, an object or a list)"
        ),
        (
            "{ \"name\": \"x\n\" }",
            "1:11: the text that begins here doesn't end on its line (close it with a double "
                + "quote; a line break within it is “\\n”)"
        ),
        (
            "{ \"name\": \"x\" } x",
            "1:17: “x” comes after the end of the profile (delete it, or move it in front of "
                + "the last closing brace)"
        ),
        ("{ \"name\" \"x\" }", "1:10: a colon is missing after the key “name” (write “\"name\": …”)"),
        ("{ \"name\" = \"x\" }", "1:10: a colon is missing after the key “name” (write “\"name\": …”)"),
        ("{ \"name\" , }", "1:10: a colon is missing after the key “name” (write “\"name\": …”)"),
        (
            "{ \"name\": \"x\" ; }",
            "1:15: “;” stands where the object should go on or end (write a comma and another "
                + "value, or “}”)"
        ),
        ("{ \"name\": \"x\", }", "1:14: a comma stands after the last value of the object (delete it)"),
        ("{ , \"name\": \"x\" }", "1:3: a comma stands in front of the first value (delete it)"),
        ("{ \"name\": \"x\", \"faults\": [,] }", "1:27: a comma stands in front of the first value (delete it)"),
        ("{ \"name\": \"x\" \"seed\": 1 }", "1:15: a comma is missing in front of this value (write it)"),
        ("{ name: \"x\" }", "1:3: a key stands without quotes (write “\"name\"”)"),
        ("{ \"name\": \"x\", 3: \"x\" }", "1:16: “3” stands where a key is due (write a key in double quotes)"),
        ("{ \"name\": x }", "1:11: the text “x” stands without quotes (write “\"x\"”)"),
        ("{ \"name\": 'x' }", "1:11: a text stands in single quotes (write double quotes)"),
        ("{ \"name\": \"x\", \"repeat\": True }", "1:26: “True” is not JSON (write “true”)"),
        (
            "{ \"name\": \"x\", \"seed\": 01 }",
            "1:24: “01” is not a number as JSON writes them (write digits without a "
                + "zero or a plus in front, and digits on both sides of the point)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 5% }",
            "1:24: “5%” stands without quotes (write a value with a unit as a text: "
                + "“\"5%\"”)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 250 ms }",
            "1:24: “250 ms” stands without quotes (write a value with a unit as "
                + "a text: “\"250 ms\"”)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 20 Mbit/s }",
            "1:24: “20 Mbit/s” stands without quotes (write a value with a "
                + "unit as a text: “\"20 Mbit/s\"”)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 20Mbit/s }",
            "1:24: “20Mbit/s” stands without quotes (write a value with a unit as a text: “\"20Mbit/s\"”)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 10.0.0.0/8 }",
            "1:24: the text “10.0.0.0/8” stands without quotes (write “\"10.0.0.0/8\"”)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 2001:db8::/32 }",
            "1:24: the text “2001:db8::/32” stands without quotes (write “\"2001:db8::/32\"”)"
        ),
        (
            "{ \"name\": \"x\", \"seed\": 1..2 }",
            "1:24: the text “1..2” stands without quotes (write “\"1..2\"”)"
        ),
        (
            "{ // why\n \"name\": \"x\" }",
            "1:3: JSON has no comments (delete it, or move what it says to “summary” or a "
                + "“name”)"
        ),
        (
            "# why\n{ \"name\": \"x\" }",
            "1:1: JSON has no comments (delete it, or move what it says to “summary” or a "
                + "“name”)"
        ),
        (
            "{ /* why\n */ \"name\": \"x\" }",
            "1:3: JSON has no comments (delete it, or move what it says to “summary” or "
                + "a “name”)"
        ),
        (
            "{ \"name\": \"x\", \"name\": \"y\" }",
            "1:16: the key “name” stands here a second time (keep this one or that "
                + "of line 1, column 3)"
        ),
        (
            "{ \"name\": \"x\", \"summary\": \"a\tb\" }",
            "1:29: a control character stands in a text (write “\\t” or delete it)"
        ),
        (
            "{ \"name\": \"x\", \"summary\": \"a\u{1}b\" }",
            "1:29: a control character stands in a text (write “\\u0001” "
                + "or delete it)"
        ),
        ("{ \"name\": \"a\\qb\" }", "1:13: “\\q” is not an escape sequence of JSON (write “\\\\” for a backslash)"),
        (
            "{ \"name\": \"a\\u12x4\" }",
            "1:13: four hexadecimal digits are due after “\\u” (write for example “\\u00E9”)"
        ),
        (
            "{ \"name\": \"a\\uD83D\" }",
            "1:13: half of a surrogate pair stands alone (write the character itself, or both "
                + "halves: “\\uD83D\\uDE00”)"
        ),
        (
            "{ \"name\": \"a\\uDE00\\uD83D!\" }",
            "1:13: half of a surrogate pair stands alone (write the character itself, "
                + "or both halves: “\\uD83D\\uDE00”)"
        ),
    ])
    func `what is not JSON is named with its place`(text: String, problem: String) {
        #expect(problems(text).first == problem)
    }

    @Test(arguments: [
        "root:x:0:0", "secret", "[default]\nsecret = 1", "\"secret", "'secret'", "{ \"secret\": hunter2 }",
        "{ secret: \"hunter2\" }", "{ 3: secret }", "{ export SECRET=hunter2; }", "{ \"secret\n\": 1 }",
        "# x\nsecret=1",
        "{ \"secret\": true, \"hunter2\": \"b\" }", "[\"secret\"]", "\"secret\"", "12345678", "{ \"hunter2\": 1, }",
    ])
    func `nothing of a file that is no profile is shown`(text: String) {
        let found = problems(text)
        #expect(found.count == 1, "\(found)")
        for word in ["secret", "SECRET", "hunter2", "root", "default", "export", "123"] {
            #expect(!found.joined().contains(word), "\(found)")
        }
    }

    @Test func `a text's escapes are undone`() throws {
        let text = #"{ "name": "a", "summary": "\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00" }"#
        #expect(try profile(text).summary == "\"\\/\u{8}\u{C}\n\r\té😀")
    }

    @Test func `a byte order mark is passed over`() throws {
        #expect(problems("\u{FEFF}{ \"name\": \"x\", }") == problems("{ \"name\": \"x\", }"))
        #expect(try profile("\u{FEFF}{ \"name\": \"x\" }").name == "x")
    }

    @Test func `columns count characters, and every kind of line end ends a line`() {
        #expect(problems("{ \"name\": \"é😀\", }").first?.hasPrefix("1:15: ") == true)
        for lineEnd in ["\n", "\r\n", "\r"] {
            #expect(problems("{\(lineEnd)\(lineEnd)\"name\": \"x\", }").first?.hasPrefix("3:12: ") == true)
        }
    }

    @Test func `invalid UTF-8 is a problem at its first place`() {
        let bytes = Array("{\n \"name\": \"a".utf8) + [0xFF, 0xC3] + Array("b\" }".utf8)
        #expect(problems(bytes: bytes) == ["2:12: the file is not valid UTF-8 (save it with the encoding UTF-8)"])
        let marked = Array("\u{FEFF}{ \"name\": \"a".utf8) + [0xFF] + Array("b\" }".utf8)
        #expect(problems(bytes: marked) == ["1:13: the file is not valid UTF-8 (save it with the encoding UTF-8)"])
    }

    @Test func `several slips are reported at once, those of the format among them`() {
        let text = """
            { // a comment
              "name": "x",
              "faults": [
                { "kind": "latency", "delay": 250 ms },
                { kind: "cutt" }
              ],
            }
            """
        #expect(problems(text).map { $0.split(separator: " ")[0] } == ["1:3:", "4:35:", "5:7:", "5:13:", "6:4:"])
    }

    @Test func `what stands behind a value without quotes is read as well`() {
        for value in ["20Mbit/s", "10.0.0.0/8", "fd00::/8", "fd00::", "127.0.0.1:80", "5/8", "1..2"] {
            let found = problems(
                "{ \"name\": \"x\", \"faults\": [ \(value) ],\n \"seed\": 7// a comment\n, \"sed\": 1 }"
            )
            #expect(found.map { $0.split(separator: " ")[0] } == ["1:28:", "2:11:", "3:3:"], "\(value): \(found)")
        }
    }

    @Test func `64 levels are read and one more is a problem`() {
        func nested(_ depth: Int) -> [String] {
            let opening = String(repeating: "[", count: depth - 1)
            let closing = String(repeating: "]", count: depth - 1)
            return problems("{ \"name\": \"x\", \"faults\": \(opening)\(closing) }")
        }
        #expect(nested(64).count == 1)
        #expect(nested(64).first?.hasPrefix("1:27: a fault is an object, not a list") == true)
        #expect(
            nested(65) == [
                "1:89: objects and lists are nested more than 64 deep (a profile needs no more than 8 "
                    + "levels)"
            ]
        )
    }

    @Test func `a file of 1 MiB is read and a larger one is not`() throws {
        let text = "{ \"name\": \"x\" }"
        let padding = String(repeating: " ", count: ProfileLimits.fileBytes - text.utf8.count)
        #expect(try profile(padding + text).name == "x")
        #expect(
            problems(" " + padding + text) == [
                "1:1: the file has more than 1048576 bytes, the most that a profile "
                    + "may have (is it a profile at all? If so, split it with “extends”)"
            ]
        )
    }
}
