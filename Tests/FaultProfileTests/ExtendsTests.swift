import Testing
import Units

@testable import FaultProfile

@Suite struct ExtendsTests {
    /// Reads the first file, with the others to extend by path, or by name without ".json".
    private func read(_ files: KeyValuePairs<String, String>) throws(ProfileProblems) -> Profile {
        let sources = files.map { ProfileSource(file: $0.key, text: $0.value) }
        return try ProfileReader.profile(from: sources[0]) { reference in
            let file =
                switch reference {
                case .shipped(let name): "\(name).json"
                case .path(let path), .trace(let path), .certificate(let path): path
                }
            guard let source = sources.first(where: { $0.file == file }) else {
                return .failure(ResolutionError(what: "there is no “\(file)”", remedy: "write another"))
            }
            return .success(source)
        }
    }

    private func problems(_ files: KeyValuePairs<String, String>) -> [String] {
        do {
            _ = try read(files)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func `a profile takes from its base what it leaves out`() throws {
        let base = """
            { "name": "base", "summary": "S", "seed": 7, "repeat": true,
              "proxies": [ { "name": "p", "listen": "h:0", "upstream": "h:1" } ],
              "phases": [ { "name": "one", "for": "1 s" } ] }
            """
        let expected = try profile(base)
        let read = try read(["a.json": #"{ "name": "a", "extends": "base" }"#, "base.json": base])
        #expect(read.name == "a")
        #expect(read.summary == "S")
        #expect(read.seed == 7)
        #expect(read.repeats)
        #expect(read.proxies == expected.proxies)
        #expect(read.phases == expected.phases)
    }

    @Test func `what a profile gives takes the place of the base's, false and empty included`() throws {
        let read = try read([
            "a.json": #"{ "name": "a", "extends": "base", "summary": "", "seed": 0, "repeat": false, "phases": [] }"#,
            "base.json":
                #"{ "name": "b", "summary": "S", "seed": 7, "repeat": true, "phases": [ { "name": "p" } ] }"#,
        ])
        #expect(read == Profile(name: "a", seed: 0))
    }

    @Test func `faults come after the base's, and one of the same name takes its place`() throws {
        let read = try read([
            "a.json": """
            { "name": "a", "extends": "base", "faults": [
              { "kind": "cut", "at": "1 B" }, { "kind": "stall", "name": "nap", "for": "9 s" } ] }
            """,
            "base.json": """
            { "name": "b", "faults": [
              { "kind": "stall", "name": "nap", "for": "1 s" }, { "kind": "cut", "at": "2 B" } ] }
            """,
        ])
        #expect(
            read.faults == [
                Fault(name: "nap", kind: .stall(Stall(at: .zero, duration: .seconds(9)))),
                Fault(name: "cut", kind: .cut(Cut(position: .at(ByteCount(2)), how: .reset))),
                Fault(name: "cut-2", kind: .cut(Cut(position: .at(ByteCount(1)), how: .reset))),
            ]
        )
    }

    @Test func `a name given twice in one file replaces the base's once and is a problem`() {
        let nap = #"{ "kind": "stall", "name": "nap", "for": "1 s" }"#
        #expect(
            problems([
                "a.json": "{ \"name\": \"a\", \"extends\": \"b\", \"faults\": [\n\(nap),\n\(nap) ] }",
                "b.json": "{ \"name\": \"b\", \"faults\": [ \(nap) ] }",
            ]) == [
                "a.json:3:28: the fault name “nap” is taken by another one (line 2) "
                    + "(give this fault a “name” that no other has)"
            ]
        )
    }

    @Test func `a problem in a base carries the base's file and comes after the profile's own`() {
        #expect(
            problems([
                "dir/a.json": "{ \"name\": \"a\", \"extends\": \"../b.json\",\n \"seed\": -1 }",
                "dir/../b.json": "{ \"nam\": \"b\" }",
            ]) == [
                "dir/a.json:2:10: “seed” can't be -1 "
                    + "(write a whole number from 0 to 18446744073709551615, without quotes)",
                "dir/../b.json:1:1: a profile needs the key “name” (add “\"name\": \"a-name\"”)",
                "dir/../b.json:1:3: a profile has no key “nam” (write “name”)",
            ]
        )
    }

    @Test func `what a resolver says of a base is told on one line`() {
        #expect(
            problems(["a.json": #"{ "name": "a", "extends": "x\nb.json:1:1: forged\u001b[2J" }"#]) == [
                #"a.json:1:27: there is no “x\u{a}b.json:1:1: forged\u{1b}[2J.json” (write another)"#
            ]
        )
    }

    @Test func `a base that isn't there is a problem where it is named`() {
        #expect(
            problems(["a.json": #"{ "name": "a", "extends": "nowhere" }"#]) == [
                "a.json:1:27: there is no “nowhere.json” (write another)"
            ]
        )
    }

    @Test(arguments: ["a.json", "./a.json", "x/../a.json"])
    func `a profile that extends itself is a problem where it says so`(path: String) {
        let text = "{ \"name\": \"a\", \"extends\": \"\(path)\" }"
        #expect(
            problems(["a.json": text, "./a.json": text, "x/../a.json": text]) == [
                "a.json:1:27: “\(path)” extends this profile, directly or through others: a circle "
                    + "(delete “extends” in one of them)"
            ]
        )
    }

    @Test func `a circle through others is a problem where it closes`() {
        #expect(
            problems([
                "a.json": #"{ "name": "a", "extends": "b" }"#, "b.json": #"{ "name": "b", "extends": "c" }"#,
                "c.json": #"{ "name": "c", "extends": "b" }"#,
            ]) == [
                "c.json:1:27: “b” extends this profile, directly or through others: a circle "
                    + "(delete “extends” in one of them)"
            ]
        )
    }

    @Test func `eight bases are read and a ninth is a problem`() throws {
        func chain(_ length: Int) throws(ProfileProblems) -> Profile {
            let first = ProfileSource(file: "0", text: "{ \"name\": \"n\", \"extends\": \"1\" }")
            return try ProfileReader.profile(from: first) { reference in
                guard case .shipped(let name) = reference, let number = Int(name) else {
                    return .failure(ResolutionError(what: "no number", remedy: "none"))
                }
                let extends = number < length ? ", \"extends\": \"\(number + 1)\"" : ""
                return .success(ProfileSource(file: name, text: "{ \"name\": \"n\"\(extends), \"seed\": \(number) }"))
            }
        }
        #expect(try chain(8).seed == 1)
        #expect(
            throws: ProfileProblems(problems: [
                Problem(
                    file: "8",
                    line: 1,
                    column: 27,
                    what: "profiles extend each other more than 8 deep",
                    remedy: "extend a profile nearer to the base"
                )
            ])
        ) { try chain(9) }
    }

    @Test(arguments: [
        ("slow-3g", "dir/a.json", ProfileReference.shipped("slow-3g")), ("b.json", "a.json", .path("b.json")),
        ("b.json", "dir/a.json", .path("dir/b.json")), ("../b", "/x/a.json", .path("/x/../b")),
        ("/b.json", "dir/a.json", .path("/b.json")),
    ])
    func `a slash or the ending json makes a path from the folder of the file`(
        text: String,
        referrer: String,
        reference: ProfileReference
    ) {
        #expect(ProfileReference(text, in: referrer) == reference)
    }
}
