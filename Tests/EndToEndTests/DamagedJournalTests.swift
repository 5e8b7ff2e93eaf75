import Digests
import Foundation
import Glibc
import Testing

/// Edited, truncated and concatenated journals in `squall replay` and `squall shrink`.
@Suite(.timeLimit(.minutes(5))) struct DamagedJournalTests {
    private static let profile = """
        {"name":"x","faults":[{"name":"cut","kind":"cut","at":"1 KB","how":"reset"}]}
        """

    private static let header = """
        {"digest":"\(SHA256.hash(profile.utf8).hexadecimal)","event":"journal","profile":\(profile),\
        "proxies":[{"name":"p","seed":7,"upstream":"127.0.0.1:9"}],"version":"1"}
        """
    private static let damaged = [header, "", line(offset: -1), ""].joined(separator: "\n")

    /// A line of the cut.
    private static func line(_ what: String = "resets", offset: Int = 1_000) -> String {
        """
        {"connection":1,"direction":"downstream","fault":"cut","offset":\(offset),"proxy":"p",\
        "time":"2026-11-21T14:20:15.123Z","what":"\(what)"}
        """
    }

    /// Runs `shrink` on a journal, with a command that passes.
    private func shrink(_ text: String) async throws -> Outcome {
        try await withFolder { folder in
            try Data(text.utf8).write(to: folder.appendingPathComponent("journal.jsonl"))
            return try await squall("shrink", "journal.jsonl", "--", "true", folder: folder)
        }
    }

    /// One of each class; what is wrong with which journal is in `JournalTests`.
    @Test(
        arguments: [
            ("", "squall: the journal “journal.jsonl” doesn't begin with a journal's header: "),
            (#"{"event":"journal","profile":{"name":"x","fault":[]}}"#, "journal.jsonl:1:"),
            (
                DamagedJournalTests.damaged,
                "journal.jsonl:3: “offset” is -1, below 0 (delete the line, or write the journal again with "
            ),
        ] as [(String, String)]
    )
    func `a journal that can't be read is exit 2 and one line that says why`(text: String, problem: String) async throws
    {
        let outcome = try await shrink(text)
        #expect(outcome.status == 2)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.hasPrefix(problem), "\(outcome.errors)")
    }

    /// The documented words for fault effects.
    private static func words() throws -> [String] {
        let row = try Repository.text("docs/journal.md").split(separator: "\n").first { $0.hasPrefix("| `what` |") }
        return (row ?? "").matches(of: /`([^`]+)`/).map { String($0.output.1) }.filter { $0 != "what" }
    }

    @Test func `every word of the page for what a fault does is one of a journal`() async throws {
        let words = try DamagedJournalTests.words()
        #expect(words.count > 10)
        let lines = words.map { DamagedJournalTests.line($0) }
        let text = ([DamagedJournalTests.header] + lines + [""]).joined(separator: "\n")
        let outcome = try await shrink(text)
        #expect(outcome.errors.contains("doesn't fail with all \(words.count - 1) faults"), "\(outcome.errors)")
    }

    @Test func `omitted lines and a torn last line are reported, and the others are replayed`() async throws {
        let omission = #"{"event":"omitted","lines":312,"proxy":"p","time":"2026-11-21T14:20:16.002Z"}"#
        let lines = [DamagedJournalTests.header, omission, DamagedJournalTests.line(), omission, "nothing"]
        let outcome = try await shrink(lines.joined(separator: "\n"))
        #expect(outcome.status == 1)
        #expect(outcome.errorLines.count == 3, "\(outcome.errors)")
        #expect(outcome.errorLines.first == "squall: journal.jsonl:5: the last line is torn off, and left out")
        #expect(outcome.errors.contains("is incomplete: 624 lines were left out"), "\(outcome.errors)")
        #expect(outcome.errorLines.last == "squall: the command doesn't fail with the fault of the journal")
    }

    @Test func `blank lines take no memory`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("journal.jsonl")
            let script = "ulimit -v 1000000 && exec \"$0\" \"$@\""
            let options = ["-c", script, Programs.squall.path, "shrink", "journal.jsonl", "--", "true"]
            try Data(repeating: UInt8(ascii: "\n"), count: 16 << 20).write(to: file)
            let blank = try await withChild(Programs.find("sh"), options, folder: folder) { await $0.finish() }
            #expect(blank.errors.contains("doesn't begin with a journal's header"), "\(blank)")
        }
    }

    @Test func `a replay refuses what a search does`() async throws {
        try await withFolder { folder in
            try Data(DamagedJournalTests.damaged.utf8).write(to: folder.appendingPathComponent("journal.jsonl"))
            let outcome = try await squall("replay", "journal.jsonl", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.hasPrefix("journal.jsonl:3: “offset” is -1, below 0"))
        }
    }
}
