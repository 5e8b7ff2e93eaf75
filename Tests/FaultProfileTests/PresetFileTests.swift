import Testing

@testable import FaultProfile

/// What is wrong with a file of presets, each as "line:column: what (what to do)".
func presetProblems(_ text: String) -> [String] {
    do {
        _ = try ProfileReader.presets(of: ProfileSource(file: "p.json", text: text), resolving: shippedTrace)
        return []
    } catch {
        return error.description.split(separator: "\n").map { String($0.dropFirst("p.json:".count)) }
    }
}

extension Corpus {
    /// Files of presets that the reader and the schema refuse.
    static let presetFiles = [
        #"{ "presets": { "a": { "summary": "s" } } }"#,
        #"{ "title": "t" }"#,
        #"{ "title": "t", "presets": {} }"#,
        #"{ "title": "t", "presets": [] }"#,
        #"{ "title": "t", "presets": { "": { "summary": "s" } } }"#,
        #"{ "title": "t", "presets": { "a": 1 } }"#,
        #"{ "title": "t", "presets": { "a": {} } }"#,
        #"{ "title": "t", "presets": { "a": { "summary": "s", "name": "a" } } }"#,
        #"{ "title": "t", "presets": { "a": { "summary": "s", "faults": [ { "kind": "cut" } ] } } }"#,
        #"{ "title": "t", "date": "June", "presets": { "a": { "summary": "s" } } }"#,
        #"{ "title": "t", "notes": { "lag": "x" }, "presets": { "a": { "summary": "s" } } }"#,
        #"{ "title": "t", "notes": "x", "presets": { "a": { "summary": "s" } } }"#,
        #"{ "title": "t", "notes": { "cut": 1 }, "presets": { "a": { "summary": "s" } } }"#,
    ]
}

@Suite struct PresetFileTests {
    private func source(_ text: String, _ preset: String? = nil) -> ProfileSource {
        ProfileSource(file: "p.json", bytes: Array(text.utf8), preset: preset)
    }

    private let file = #"""
        { "title": "Ours", "source": "Our lab", "notes": { "latency": "Each way.", "loss": "Per packet." },
          "presets": {
            "one": { "summary": "One", "source": "first table", "faults": [ { "kind": "latency", "delay": "1 ms" } ] },
            "two": { "summary": "Two", "extends": "one" },
            "three": { "summary": "Three", "source": "by ear", "notes": {}, "extends": "one" } } }
        """#

    @Test func `a preset is a profile with the source of its file, and the notes about its faults`() throws {
        let ours = source(file)
        #expect(PresetFile(ours)?.title == "Ours")
        #expect(PresetFile(ours)?.names == ["one", "two", "three"])
        let presets = try ProfileReader.presets(of: ours) { reference in
            .success(source(file, reference == .shipped("one") ? "one" : "x"))
        }
        #expect(presets.map(\.name) == ["one", "two", "three"])
        #expect(presets.map(\.summary) == ["One", "Two", "Three"])
        #expect(presets.map(\.source) == ["Our lab, first table. Each way.", "Our lab. Each way.", "Our lab, by ear."])
        #expect(presets.allSatisfy { $0.faults == presets[0].faults && $0.faults.count == 1 })
    }

    @Test func `a file of presets is no profile, and a profile no file of presets`() {
        #expect(
            problems(file) == [
                "1:1: this is a file of presets, not a profile (name one of them: “one”, “two”, “three”)"
            ]
        )
        #expect(PresetFile(source(#"{ "name": "x", "presets": {} }"#)) == nil)
        #expect(PresetFile(source("{ \"presets\": {")) == nil)
    }

    @Test func `presets of one file may extend each other, but not in a circle`() {
        let text = #"""
            { "title": "t", "presets": { "a": { "summary": "s", "extends": "b" },
              "b": { "summary": "s", "extends": "a" } } }
            """#
        #expect(throws: ProfileProblems.self) {
            try ProfileReader.profile(from: source(text, "a")) { reference in
                guard case .shipped(let name) = reference else { preconditionFailure("only names are given") }
                return .success(source(text, name))
            }
        }
        #expect(throws: ProfileProblems.self) { try ProfileReader.profile(from: source(text, "c")) }
    }

    @Test func `what is in a file of presets besides the presets is checked as well`() {
        let head = #"{ "title": "t", "presets": { "a": { "summary": "s" } }"#
        #expect(presetProblems("\(head) }") == [])
        #expect(
            presetProblems("\(head),\n\"date\": \"2024-6\" }")
                == ["2:9: “2024-6” is not a date (write one such as “2024-06” or “2024-06-11”)"]
        )
        #expect(
            presetProblems("\(head),\n\"notes\": { \"latensy\": \"x\" } }")
                == ["2:12: “latensy” is not a kind of fault (write “latency”)"]
        )
        #expect(
            presetProblems("\(head),\n\"ulr\": \"x\" }")
                == ["2:1: a file of presets has no key “ulr” (write “url”)"]
        )
        #expect(
            presetProblems(#"{ "title": "t", "presets": { "a/b": { "summary": "s" } } }"#) == [
                "1:30: “a/b” looks like a path, so no preset of that name is found "
                    + "(write a name without a slash, and without “.json” at its end)"
            ]
        )
        let long = String(repeating: "x", count: 600)
        let row = #"{ "summary": "s", "source": "\#(long)" }"#
        let both = #"{ "title": "t", "source": "\#(long)", "presets": { "a": \#(row) } }"#
        #expect(presetProblems(both).first?.contains("has 1203 characters with that of its file") == true)
    }
}
