import Foundation
import Testing

/// Control characters in echoed arguments, file names, profiles and journals.
@Suite(.timeLimit(.minutes(5))) struct ControlCharacterTests {
    /// Colours, a title, a separate line, a C1 control, a changed direction, a deletion.
    private static let evil = "x\u{1B}[31m\u{1B}]0;pwn\u{7}\rsquall: fine\u{9B}2J\u{202E}\u{7F}"

    private func expectPlain(_ outcome: Outcome, status: Int32 = 2) {
        #expect(outcome.status == status)
        let text = outcome.output + outcome.errors
        let raw = text.unicodeScalars.filter { scalar in
            let category = scalar.properties.generalCategory
            return scalar != "\n" && (category == .control || category == .format)
        }
        #expect(raw.isEmpty, "\(text.debugDescription)")
        #expect(text.contains("\\u{1b}") || text.contains("\\u001b"), "\(text)")
    }

    @Test(arguments: [
        ["run", evil], ["run", "slow-3g", "--listen", evil], ["run", "slow-3g", "--name", evil], [evil],
        ["help", evil],
        ["run", "slow-3g", evil], ["run", "slow-3g", "--\(evil)"], ["run", "slow-3g", "--seed=\(evil)"],
        ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "\(evil):1"],
        ["run", "slow-3g", "--listen", "\(evil):0", "--upstream", "127.0.0.1:1"],
        ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1", "--journal", "\(evil)/\(evil)"],
        ["plan", evil], ["plan", "slow-3g", "--size", evil], ["plan", "slow-3g", "--events", evil],
        ["plan", "slow-3g", "--size", "1KiB", "--svg", "\(evil)/x"],
        ["demo", "--keep", "/dev/null/\(evil)"], ["check", evil, "./\(evil)"], ["profiles", evil],
        ["replay", evil], ["shrink", evil, "--", "true"], ["origin", evil], ["get", "http://127.0.0.1/", "-o\(evil)/"],
        ["get", "http://127.0.0.1/x", "--output", "\(evil)/x"], ["get", evil], ["get", "http://\(evil)/x"],
    ])
    func `control characters in usage errors are escaped`(arguments: [String]) async throws {
        try await withFolder { folder in
            let outcome = try await squall(arguments, folder: folder)
            #expect(
                outcome.errors.contains("\\u{1b}") || outcome.errors.contains("control character"),
                "\(outcome.errors)"
            )
            let raw = (outcome.output + outcome.errors).unicodeScalars.filter { scalar in
                let category = scalar.properties.generalCategory
                return scalar != "\n" && (category == .control || category == .format)
            }
            #expect(raw.isEmpty, "\((outcome.output + outcome.errors).debugDescription)")
            #expect([1, 2].contains(outcome.status))
        }
    }

    @Test(arguments: [
        ["run", "a", "c\nsquall: b"], ["plan", "slow-3g", "--size", "1\nb"], ["run", "a", "--seed=1\nb"],
    ])
    func `an argument of several lines is printed on one`(arguments: [String]) async throws {
        let outcome = try await squall(arguments)
        #expect(outcome.status == 2)
        #expect(!outcome.errorLines.contains { $0.hasPrefix("b") || $0.hasPrefix("squall: b") }, "\(outcome.errors)")
        #expect(outcome.errors.contains("\\u{a}"))
    }

    @Test func `a ready line shows the names of the proxy's profile and of the origin's folder`() async throws {
        try await withFolder { folder in
            let served = folder.appendingPathComponent(ControlCharacterTests.evil + "\nx")
            try FileManager.default.createDirectory(at: served, withIntermediateDirectories: true)
            try await withChild(Programs.squall, ["origin", served.path]) { origin in
                let line = try await origin.line(with: "ready: ")
                #expect(line.hasSuffix("squall: fine\\u{9b}2J\\u{202e}\\u{7f}\\u{a}x"), "\(line)")
                origin.signal(2)
                expectPlain(await origin.finish(), status: 0)
            }
            let profile =
                #"{ "name": "a\u202eb", "summary": "\u001b[2J", "faults": [ { "kind": "cut", "at": "1 B" } ] }"#
            try Data(profile.utf8).write(to: folder.appendingPathComponent("p.json"))
            let options = ["--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9", "--name", "n\u{202E}m"]
            for journal in ["j", "-"] {
                let run = ["run", "p.json", "--journal", journal] + options
                try await withChild(Programs.squall, run, folder: folder) { proxy in
                    let line =
                        journal == "-"
                        ? try await proxy.errorLine(with: "ready: ") : try await proxy.line(with: "ready: ")
                    #expect(line.contains("a\\u{202e}b"))
                    proxy.signal(2)
                    expectPlain(
                        Outcome(status: await proxy.finish().status, output: line, errors: "\\u{1b}"),
                        status: 0
                    )
                    let outcome = await proxy.finish()
                    #expect(!(outcome.output + outcome.errors).contains("\u{202E}"))
                }
            }
            let text = try String(contentsOf: folder.appendingPathComponent("j"), encoding: .utf8)
            #expect(text.contains(#"a\u202eb"#) && !text.contains("\u{202E}"))
            for events in ["text", "json"] {
                let planned = ["plan", "p.json", "--size", "1KiB", "--events", events]
                let outcome = try await squall(planned, folder: folder)
                #expect(outcome.status == 0)
                #expect(!outcome.output.contains("\u{1B}") && !outcome.output.contains("\u{202E}"))
            }
        }
    }

    @Test func `a path of several lines is printed on one`() async throws {
        try await withFolder { folder in
            try Data(#"{ "name": "x" }"#.utf8).write(to: folder.appendingPathComponent("a\nb.json"))
            let checked = try await squall("check", "a\nb.json", folder: folder)
            #expect(checked.output == "a\\u{a}b.json: fine (no faults, no phases)\n")
            try await withOrigin(size: 10) { origin in
                let outcome = try await squall("get", "http://\(origin)/file.bin", "-o", "a\nb\u{1B}", folder: folder)
                #expect(outcome.status == 0)
                #expect(outcome.output.hasPrefix("a\\u{a}b\\u{1b}: 10 bytes in "))
            }
        }
    }

    @Test func `JSON shows no character that a terminal acts on, and has the same value`() async throws {
        let outcome = try await squall(
            words: "get http://127.0.0.1:1/x -o \("/dev/null/x\u{9B}\u{202E}\u{7F}\u{E0001}") --events json"
        )
        let line = try #require(outcome.lines.first)
        #expect(line.unicodeScalars.allSatisfy { $0.value < 0x7F || $0.properties.generalCategory != .format })
        #expect(line.contains(#"\u009b\u202e\u007f\udb40\udc01"#), "\(line)")
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect((object["reason"] as? String)?.contains("x\u{9B}\u{202E}\u{7F}\u{E0001}") == true)
    }

    @Test func `a profile is printed as it is to a pipe, and with its controls visible to a terminal`() async throws {
        try await withFolder { folder in
            let text = "{ \"name\": \"x\", \"summary\": \"\u{202E}\" }\n"
            try Data(text.utf8).write(to: folder.appendingPathComponent("p.json"))
            let piped = try await squall("profiles", "./p.json", folder: folder)
            #expect(piped.output == text)
            let line = "'\(Programs.squall.path)' profiles '\(folder.path)/p.json'"
            let shown = try await run("script", ["-qec", line, "/dev/null"])
            #expect(shown.output.contains("\\u{202e}") && !shown.output.contains("\u{202E}"))
        }
    }

    @Test func `text is printed through Console, or through LiveLine where a line is redrawn`() throws {
        // A test of XCTest, or one beyond its time limit, has no other way to say how to repeat it.
        let doors = [
            "Sources/TerminalDisplay/Console.swift", "Sources/TerminalDisplay/LiveLine.swift",
            "Sources/SquallTesting/WithNetwork.swift",
        ]
        let pattern = try Regex(
            #"LineWriter\(standard|FileHandle\.standard|STD(OUT|ERR)_FILENO|\b(f?puts|f?printf|fwrite)\(|(^|[^.])\bprint\("#
        )
        let others = Repository.files(in: "Sources", ending: ".swift").filter { file in
            !doors.contains(file) && !file.hasPrefix("Sources/OperatingSystem/")
        }
        let found = try others.filter { try Repository.text($0).firstMatch(of: pattern) != nil }
        #expect(found.isEmpty)
    }
}
