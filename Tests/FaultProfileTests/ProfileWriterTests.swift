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

    @Test func `a fault's name that is made up with the longest name of a phase is read back`() throws {
        let phase = String(repeating: "p", count: ProfileLimits.nameLength)
        let limits = Array(repeating: #"{ "kind": "connection-limit", "limit": 1 }"#, count: 254).joined(
            separator: ", "
        )
        let text = """
            { "name": "x", "phases": [ { "name": "\(phase)", "faults": [ { "kind": "outage", "how": "reset" }, \(limits) ] } ],
              "faults": [ { "kind": "stall", "for": "1 s", "when": { "after": "\(phase)/connection-limit-254" } } ] }
            """
        let read = try profile(text)
        #expect(read.phases[0].faults.first?.name == "\(phase)/outage")
        expectReadBack(read, "long names")
    }

    @Test func `a trace's path is read back with the folder in front`() throws {
        let folder = "/" + String(repeating: "d", count: 999) + "/"
        let file = String(repeating: "f", count: 1_000)
        func read(_ text: String) throws(ProfileProblems) -> Profile {
            try ProfileReader.profile(from: ProfileSource(file: folder + "p.json", text: text)) { reference in
                #expect(reference == .trace(folder + file))
                return .success(ProfileSource(file: "t", text: "1"))
            }
        }
        let profile = try read(#"{ "name": "x", "faults": [ { "kind": "trace", "file": "\#(file)" } ] }"#)
        #expect(try read(ProfileWriter.text(of: profile)) == profile)
    }

    @Test func `control characters are written short where JSON has a short way`() {
        #expect(JSONText.text("\u{8}\u{C}\n\r\t\u{1}\u{7F}").compact == #""\b\f\n\r\t\u0001\u007f""#)
    }

    @Test func `a profile of a journal may be longer than a file`() throws {
        let padding = String(repeating: " ", count: ProfileLimits.fileBytes)
        let source = ProfileSource(file: "j", text: #"{"profile":\#(padding){"name":"x"}}"#)
        let found = try ProfileReader.profile(embeddedIn: source, under: "profile", resolving: shippedTrace)
        #expect(found == Profile(name: "x"))
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
            (#"{"profile":{"nam":"x"}}"#, "1:13"), (#"{"profile":{"name":"x","extends":"y"}}"#, "1:34"),
            (#"{"event":"journal"}"#, "1:1"), ("nothing", "1:1"),
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
