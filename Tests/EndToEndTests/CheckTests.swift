import Foundation
import Testing

/// `squall check`, and the reports of all subcommands about invalid profiles.
@Suite(.timeLimit(.minutes(5))) struct CheckTests {
    private static let broken = """
        {
          "name": "broken",
          "sumary": "a key that isn't one",
          "faults": [
            { "kind": "latency", "delay": 250 },
            { "kind": "bandwidth", "rate": "-5 Mbit/s" },
            { "kind": "teleport" }
          ],
          "phases": [ { "name": "never", "for": "0 s" } ]
        }
        """
    private static let places = ["3:3", "5:35", "6:36", "7:15", "9:41"]

    @Test(arguments: Repository.profiles)
    func `a shipped profile is fine, by its name and by its path`(name: String) async throws {
        for reference in [name, Repository.root.appendingPathComponent("Profiles/\(name).json").path] {
            let outcome = try await squall("check", reference)
            #expect(outcome.status == 0)
            #expect(outcome.errors.isEmpty)
            #expect(outcome.output.hasPrefix("\(reference): fine ("))
        }
    }

    @Test func `every problem is told at once, each with file, line, column and what to do`() async throws {
        try await withFolder { folder in
            try Data(CheckTests.broken.utf8).write(to: folder.appendingPathComponent("broken.json"))
            let outcome = try await squall("check", "broken.json", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errorLines.count == CheckTests.places.count)
            for (line, place) in zip(outcome.errorLines, CheckTests.places) {
                #expect(line.hasPrefix("broken.json:\(place): "))
                #expect(line.hasSuffix(")"), "a remedy in parentheses: \(line)")
            }
            #expect(outcome.errors.contains("“250” has no unit"))
            #expect(outcome.errors.contains("write “summary”"))
        }
    }

    @Test(arguments: ["run", "demo"])
    func `who runs a profile with problems is told the same as by check`(command: String) async throws {
        try await withFolder { folder in
            try Data(CheckTests.broken.utf8).write(to: folder.appendingPathComponent("broken.json"))
            let checked = try await squall("check", "broken.json", folder: folder)
            let outcome = try await squall(command, "broken.json", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors == checked.errors)
        }
    }

    @Test(arguments: [
        "", "{", "[]", "{ \"name\": \"x\", }", "{\"name\":\"x\",\"name\":\"y\"}", "\u{FEFF}{}", "\"\u{0}\"",
    ])
    func `what is no JSON object is a problem with a place`(text: String) async throws {
        try await withFolder { folder in
            try Data(text.utf8).write(to: folder.appendingPathComponent("odd.json"))
            let outcome = try await squall("check", "odd.json", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.firstMatch(of: #/^odd\.json:[0-9]+:[0-9]+: /#) != nil, "\(outcome.errors)")
        }
    }

    @Test(arguments: [
        #""extends": "x\ny.json:1:1: forged""#, #""extends": "/x\u001b[2J\ny.json""#, #""extends": "x\ny""#,
        #""faults": [ { "kind": "trace", "file": "a\nb" } ]"#,
    ])
    func `what a profile names is told on one line, without control characters`(member: String) async throws {
        try await withFolder { folder in
            try Data("{ \"name\": \"x\", \(member) }".utf8).write(to: folder.appendingPathComponent("odd.json"))
            let outcome = try await squall("check", "odd.json", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errorLines.count == 1)
            #expect(!outcome.errors.dropLast().unicodeScalars.contains { $0.value < 0x20 }, "\(outcome.errors)")
        }
    }

    @Test func `what isn't there is told on one line, without control characters`() async throws {
        for reference in ["x\ny", "./x\n\u{1B}[2Jy.json"] {
            let outcome = try await squall("check", reference)
            #expect(outcome.status == 2)
            #expect(outcome.errorLines.count == 1, "\(outcome.errors)")
        }
    }

    @Test func `one bad profile among good ones is exit 2, and the good ones are told`() async throws {
        let outcome = try await squall("check", "slow-3g", "./missing.json", "elevator")
        #expect(outcome.status == 2)
        #expect(outcome.lines.map { $0.prefix { $0 != ":" } } == ["slow-3g", "elevator"])
        #expect(
            outcome.errors
                == "squall: can't read the profile “./missing.json”: No such file or directory (errno 2) (check the path)\n"
        )
    }

    @Test(arguments: [("wifi-walkawy", "did you mean “wifi-walkaway”?"), ("zzzz", "squall profiles lists them")])
    func `an unknown name is told with what it may have meant`(name: String, remedy: String) async throws {
        for command in ["check", "profiles", "demo"] {
            let outcome = try await squall(command, name)
            #expect(outcome.status == 2)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.contains("there is no profile “\(name)”"))
            #expect(outcome.errors.contains(remedy))
        }
    }

    @Test func `profiles prints one as it is`() async throws {
        let one = try await squall("profiles", "elevator")
        #expect(try one.output == Repository.text("Profiles/elevator.json"))
    }

    @Test func `without the folder of the shipped profiles the way to it is told`() async throws {
        let outcome = try await squall("profiles", environment: ["SQUALL_PROFILES": "/nowhere"])
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("SQUALL_PROFILES"))
    }
}
