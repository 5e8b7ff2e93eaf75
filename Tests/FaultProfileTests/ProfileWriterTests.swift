import Testing

@testable import FaultProfile

@Suite struct ProfileWriterTests {
    private func expectReadBack(_ profile: Profile, _ note: String) {
        for text in [ProfileWriter.text(of: profile), ProfileWriter.canonicalText(of: profile)] {
            do {
                let back = try ProfileReader.profile(
                    from: ProfileSource(file: "written.json", text: text),
                    resolving: shippedTrace
                )
                #expect(back == profile, "\(note)")
            } catch {
                Issue.record("\(note): \(error)\n\(text)")
            }
        }
    }

    @Test(arguments: Corpus.valid)
    func `whatever can be read is written so that it is read back the same`(text: String) throws {
        let source = ProfileSource(file: "p.json", text: text)
        expectReadBack(try ProfileReader.profile(from: source, resolving: shippedTrace), text)
    }

    @Test(arguments: Repository.shippedProfiles)
    func `every shipped profile is read back the same`(name: String) throws {
        let bytes = try Repository.bytes(of: "Profiles/\(name).json")
        expectReadBack(
            try ProfileReader.profile(from: ProfileSource(file: name, bytes: bytes), resolving: shippedTrace),
            name
        )
    }

    @Test func `the canonical text doesn't depend on the look of the file`() throws {
        let one = try profile(
            #"{ "name": "x", "faults": [ { "kind": "latency", "delay": "1000 ms", "jitter": "0 s" } ] }"#
        )
        let other = try profile(
            """
            { "faults": [ { "delay": "1 s", "kind": "latency", "stream": "both" } ],
              "name": "x", "phases": [], "repeat": false }
            """
        )
        #expect(ProfileWriter.canonicalText(of: one) == ProfileWriter.canonicalText(of: other))
        let expected = #"{"name":"x","faults":[{"name":"latency","kind":"latency","delay":"1 s"}]}"#
        #expect(ProfileWriter.canonicalText(of: one) == expected)
    }

    @Test func `a written file is one that a person can read`() throws {
        let text = """
            {
              "name": "x",
              "faults": [
                { "name": "cut", "kind": "cut", "stream": "downstream", "at": "64 KiB", "how": "reset", "when": { "connection": 3 } }
              ],
              "phases": [
                {
                  "name": "gone",
                  "for": "2 s",
                  "faults": [
                    { "name": "gone/outage", "kind": "outage", "how": "refuse" }
                  ]
                },
                { "name": "back" }
              ]
            }

            """
        #expect(ProfileWriter.text(of: try profile(text)) == text)
    }

    @Test func `a profile within a journal's line is read, its problems with their places`() throws {
        let line =
            #"{"digest":"0","event":"journal","profile":{"name":"x","faults":[{"kind":"outage","how":"reset"}]}}"#
        let found = try ProfileReader.profile(
            embeddedIn: ProfileSource(file: "j", text: line),
            under: "profile",
            resolving: shippedTrace
        )
        #expect(found.faults.map(\.name) == ["outage"])
        for (text, problem) in [
            (#"{"profile":{"nam":"x"}}"#, "1:13"), (#"{"event":"journal"}"#, "1:1"), ("nothing", "1:1"),
        ] {
            let error = #expect(throws: ProfileProblems.self) {
                try ProfileReader.profile(
                    embeddedIn: ProfileSource(file: "j", text: text),
                    under: "profile",
                    resolving: shippedTrace
                )
            }
            #expect(error?.description.contains("j:\(problem): ") == true, "\(String(describing: error))")
        }
    }
}
