import Testing

@testable import FaultProfile

@Suite struct LimitTests {
    private func list(_ count: Int, _ element: (Int) -> String) -> String {
        "[" + (0..<count).map(element).joined(separator: ",\n") + "]"
    }

    private func fault(_ number: Int) -> String { "{ \"kind\": \"stall\", \"for\": \"1 s\" }" }

    @Test func `256 faults are read and one more is a problem at its place`() throws {
        #expect(try profile("{ \"name\": \"x\", \"faults\": \(list(256, fault)) }").faults.count == 256)
        #expect(
            problems("{ \"name\": \"x\", \"faults\": \(list(257, fault)) }") == [
                "257:1: there are more than 256 faults (delete some)"
            ]
        )
    }

    @Test func `faults of phases and bases count as well`() {
        let base = ProfileSource(file: "b", text: "{ \"name\": \"b\", \"faults\": \(list(100, fault)) }")
        func read(phaseFaults: Int) throws(ProfileProblems) -> Profile {
            let text = """
                { "name": "a", "extends": "b", "faults": \(list(100, fault)),
                "phases": [ { "name": "p", "faults":
                \(list(phaseFaults, fault)) } ] }
                """
            return try ProfileReader.profile(from: ProfileSource(file: "a", text: text)) { _ in .success(base) }
        }
        #expect(throws: Never.self) { try read(phaseFaults: 56) }
        #expect(
            throws: ProfileProblems(problems: [
                Problem(
                    file: "a",
                    line: 158,
                    column: 1,
                    what: "there are more than 256 faults in the profile with its phases and bases",
                    remedy: "delete some"
                )
            ])
        ) { try read(phaseFaults: 57) }
    }

    @Test func `the order of more faults than there may be isn't looked at`() {
        func phase(_ number: Int) -> String {
            let faults = list(200) { _ in "{ \"kind\": \"stall\", \"for\": \"1 s\", \"when\": { \"after\": \"x\" } }" }
            return "{ \"name\": \"\(number)\", \"for\": \"1 s\", \"faults\": \(faults) }"
        }
        #expect(problems("{ \"name\": \"x\", \"phases\": \(list(1, phase)) }").count == 101)
        #expect(
            problems("{ \"name\": \"x\", \"phases\": \(list(8, phase)) }") == [
                "257:1: there are more than 256 faults in the profile with its phases and bases (delete some)"
            ]
        )
    }

    @Test func `256 phases are read and one more is a problem`() throws {
        func phase(_ number: Int) -> String { "{ \"name\": \"\(number)\", \"for\": \"1 s\" }" }
        #expect(try profile("{ \"name\": \"x\", \"phases\": \(list(256, phase)) }").phases.count == 256)
        #expect(
            problems("{ \"name\": \"x\", \"phases\": \(list(257, phase)) }") == [
                "257:1: there are more than 256 phases (delete some)"
            ]
        )
    }

    @Test func `64 proxies are read and one more is a problem`() throws {
        func proxy(_ number: Int) -> String {
            "{ \"name\": \"\(number)\", \"listen\": \"h:0\", \"upstream\": \"h:1\" }"
        }
        #expect(try profile("{ \"name\": \"x\", \"proxies\": \(list(64, proxy)) }").proxies.count == 64)
        #expect(
            problems("{ \"name\": \"x\", \"proxies\": \(list(65, proxy)) }") == [
                "65:1: there are more than 64 proxies (delete some)"
            ]
        )
    }

    @Test func `256 offsets of a cut are read and one more is a problem`() throws {
        func cut(_ count: Int) -> String {
            let offsets = list(count) { "\"\($0) B\"" }
            return "{ \"name\": \"x\", \"faults\": [ { \"kind\": \"cut\", \"at\": \(offsets) } ] }"
        }
        #expect(try profile(cut(256)).faults.count == 1)
        #expect(problems(cut(257)) == ["257:1: there are more than 256 offsets in this cut (delete some)"])
    }

    @Test func `256 quantiles are read and one more is a problem`() throws {
        func latency(_ count: Int) -> String {
            let quantiles = list(count) { "\"\($0) ms\"" }
            return "{ \"name\": \"x\", \"faults\": [ { \"kind\": \"latency\", \"quantiles\": \(quantiles) } ] }"
        }
        #expect(try profile(latency(256)).faults.count == 1)
        #expect(problems(latency(257)) == ["257:1: there are more than 256 quantiles in this table (delete some)"])
    }

    @Test func `a name has at most 100 characters and a summary 1,000`() throws {
        func named(_ name: Int, _ summary: Int) -> String {
            let texts = [name, summary].map { String(repeating: "é", count: $0) }
            return "{ \"name\": \"\(texts[0])\",\n\"summary\": \"\(texts[1])\" }"
        }
        #expect(try profile(named(100, 1_000)).summary.count == 1_000)
        #expect(
            problems(named(101, 1_001)) == [
                "1:11: “name” has 101 characters, more than 100 (shorten it)",
                "2:12: “summary” has 1001 characters, more than 1000 (shorten it)",
            ]
        )
    }

    @Test func `the name of a fault has at most 128 characters`() {
        func stall(_ length: Int) -> String {
            let name = String(repeating: "é", count: length)
            return "{ \"kind\": \"stall\", \"for\": \"1 s\", \"name\": \"\(name)\" }"
        }
        #expect(problems(fault: stall(128)) == [])
        #expect(problems(fault: stall(129)) == ["2:42: “name” has 129 characters, more than 128 (shorten it)"])
    }

    @Test func `an answer has at most 32 fields, of 100 bytes and values of 1,000`() {
        func answer(_ fields: String) -> [String] {
            problems(fault: "{ \"kind\": \"http\", \"answer\": { \"status\": 503, \"header\": {\n\(fields) } } }")
        }
        func fields(_ count: Int) -> String {
            (0..<count).map { "\"X-\($0)\": \"\"" }.joined(separator: ",\n")
        }
        func field(_ name: Int, _ value: Int) -> String {
            "\"\(String(repeating: "X", count: name))\":\n\"\(String(repeating: "é", count: value / 2))\""
        }
        #expect(answer(fields(32)) == [])
        #expect(answer(fields(33)) == ["2:56: “header” has 33 fields, more than 32 (delete some)"])
        #expect(answer(field(100, 1_000)) == [])
        #expect(
            answer(field(101, 1_002)) == [
                "3:1: the field's name has 101 bytes, more than 100 (shorten it)",
                "4:1: the field's value has 1002 bytes, more than 1000 (shorten it)",
            ]
        )
    }

    @Test func `a connection's number has at most 12 digits`() throws {
        func when(_ connection: String) -> String {
            "{ \"kind\": \"stall\", \"for\": \"1 s\", \"when\": { \"connection\": \(connection) } }"
        }
        for number in ["999999999999", "\"1..999999999999\""] { #expect(problems(fault: when(number)) == []) }
        for number in ["1000000000000", "\"1..1000000000000\""] { #expect(problems(fault: when(number)).count == 1) }
    }

    @Test func `the first hundred problems are listed, and the rest counted`() {
        for count in [100, 101, 399, 400, 401, 1_000] {
            let keys = (0..<count).reversed().map { "\"key-\($0)\": 0" }.joined(separator: ",\n")
            let found = problems("{ \"name\": \"x\",\n\(keys) }")
            #expect(found.prefix(100).map { $0.prefix { $0 != ":" } } == (2...101).map { "\($0)" })
            #expect(found.dropFirst(100) == (count > 100 ? ["and \(count - 100) more"] : []))
        }
    }

    @Test func `a file made of mistakes is refused with a hundred of them and their number`() throws {
        let escapes = String(repeating: "\\q", count: 10_000)
        let source = ProfileSource(file: "p.json", text: "{ \"name\": \"\(escapes)\" }")
        let thrown = #expect(throws: ProfileProblems.self) { try ProfileReader.profile(from: source) }
        let found = try #require(thrown)
        #expect(found.problems.count == ProfileProblems.limit)
        // The empty text that is left over is one more.
        #expect(found.omitted == 10_001 - ProfileProblems.limit)
    }

    @Test func `what to do about a problem is worked out for those only that may be listed`() {
        var list = ProblemList()
        let file = list.addFile("p.json")
        var remedies = 0
        func remedy() -> String {
            remedies += 1
            return "delete it"
        }
        for line in 1...10_000 {
            list.add("wrong", remedy: remedy(), at: SourcePlace(file: file, place: Place(line: line, column: 1)))
        }
        #expect(list.result()?.problems.count == ProfileProblems.limit)
        #expect(remedies <= 4 * ProfileProblems.limit)
    }

    @Test func `a problem is one line, whatever the file is called and says`() throws {
        let text = "{ \"name\": \"x\", \"a\\nb\\u2028\(String(repeating: "c", count: 500))\": 1 }"
        let source = ProfileSource(file: "a\nb.json", text: text)
        let thrown = #expect(throws: ProfileProblems.self) { try ProfileReader.profile(from: source) }
        let found = try #require(thrown)
        #expect(found.problems.count == 1)
        #expect(found.description.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).count == 1)
        #expect(found.description.count < 400)
    }

    /// An object with `count` members that no object has, then `more`.
    private func unknown(_ count: Int, _ more: String = "") -> String {
        "{" + (0..<count).map { "\"zzzzzz\($0)\": 1" }.joined(separator: ", ") + more + "}"
    }

    @Test func `64 keys are compared with those of a profile, and no more`() {
        let near = ", \"fautls\": []"
        #expect(problems(unknown(63, near)).contains { $0.contains("a profile has no key “fautls”") })
        let far = problems(unknown(64, near))
        #expect(far.count == 1 && far[0].contains("this is no profile: it has none of the keys of one"))
        // Those that are right are found anywhere.
        #expect(problems(unknown(1_000, ", \"faults\": []")).contains { $0.contains("needs the key “name”") })
    }

    @Test func `64 keys of a fault are looked at for what its kind was meant to be, and no more`() {
        #expect(problems(fault: unknown(63, ", \"latency\": 1"))[0].contains("and has “latency”"))
        #expect(problems(fault: unknown(64, ", \"latency\": 1"))[0].contains("add one of the kinds"))
    }

    @Test func `a problem of a file of presets is told once, however many presets it has`() {
        let preset = "{ \"summary\": \"s\" }"
        let presets = (0..<9).map { "\"p\($0)\": \(preset)" }.joined(separator: ", ")
        let text = unknown(150, ", \"title\": \"t\", \"presets\": { \(presets) }")
        let error = #expect(throws: ProfileProblems.self) {
            try ProfileReader.presets(of: ProfileSource(file: "p.json", text: text), resolving: shippedTrace)
        }
        #expect(error?.problems.count == 100 && error?.omitted == 50)
    }
}
