import Digests
import Foundation
import Glibc
import Testing

/// Edited, truncated and concatenated journals in `squall replay` and `squall shrink`.
@Suite(.timeLimit(.minutes(5))) struct DamagedJournalTests {
    private static let profile = """
        {"name":"x","faults":[{"name":"cut","kind":"cut","at":"1 KB","how":"reset"},\
        {"name":"late","kind":"latency","delay":"1 ms"}],"phases":[{"name":"gone","faults":[\
        {"name":"gone/outage","kind":"outage","how":"refuse"}]}]}
        """
    private static let proxies = #"[{"name":"p","seed":7,"upstream":"127.0.0.1:9"}]"#

    private static func header(proxies: String = proxies, digest: String? = nil) -> String {
        let digest =
            digest ?? SHA256.hash(profile.utf8).hexadecimal
        return #"{"digest":"\#(digest)","event":"journal","profile":\#(profile),"proxies":\#(proxies),"version":"1"}"#
    }

    /// A line of the cut with some values changed; an empty value removes the key.
    private static func line(_ changes: [String: String] = [:]) -> String {
        let values = [
            "connection": "1", "direction": #""downstream""#, "fault": #""cut""#, "offset": "1000", "proxy": #""p""#,
            "time": #""2026-11-21T14:20:15.123Z""#, "what": #""resets""#,
        ]
        let members = values.merging(changes) { $1 }.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
        return "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    /// Runs `shrink` on a journal, with a command that passes.
    private func shrink(_ text: String) async throws -> Outcome {
        try await withFolder { folder in
            try Data(text.utf8).write(to: folder.appendingPathComponent("journal.jsonl"))
            return try await squall("shrink", "journal.jsonl", "--", "true", folder: folder)
        }
    }

    @Test(arguments: [
        ("", "doesn't begin with a journal's header"), ("{}\n", "doesn't begin with a journal's header"),
        (
            #"{"digest":"","event":"journal","profile":{"name":"x","fault":[]},"proxies":[],"version":"1"}"# + "\n",
            "journal.jsonl:1:"
        ),
        (
            DamagedJournalTests.header(digest: String(repeating: "0", count: 64)) + "\n",
            "journal.jsonl:1: “digest” isn't that of the profile in this header"
        ),
        (DamagedJournalTests.header(proxies: "[]") + "\n", "journal.jsonl:1: the header has no proxy"),
        (
            "\r\n \n" + DamagedJournalTests.header(proxies: "[]") + "\n",
            "journal.jsonl:3: the header has no proxy"
        ),
    ])
    func `what has no sound header is exit 2 and one line that says why`(text: String, problem: String) async throws {
        let outcome = try await shrink(text)
        #expect(outcome.status == 2)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains(problem), "\(outcome.errors)")
    }

    @Test(
        arguments: [
            (["fault": #""cot""#], "the profile of the header has no fault “cot”"),
            (["proxy": #""q""#], "the header has no proxy “q”"),
            (["what": #""explodes""#], "“explodes” is nothing that a fault does"),
            (["direction": #""sideways""#], "“sideways” is not a value of “direction”"),
            (["of": #""page""#, "request": "1"], "“page” is not a value of “of”"),
            (["of": #""body""#], "“of” tells of a message of HTTP, and “request” is missing"),
            (["of": #""body""#, "request": "0"], "“request” is 0"), (["offset": "-1"], "“offset” is -1, below 0"),
            (["offset": ""], "the fault “cut” strikes at a position, and “offset” is missing"),
            (["connection": ""], "the fault “cut” strikes at a position, and “connection” is missing"),
            (["connection": "0"], "“connection” is 0"),
            (["connection": "-1"], "“connection” is -1"),
            (["connection": #""1""#], "this is no line of a journal: it has a value of another type"),
            (["what": ""], "this is no line of a journal: “what” is missing"),
        ] as [([String: String], String)]
    )
    func `a line that its header doesn't explain is refused, with its number and what to do`(
        changes: [String: String],
        problem: String
    ) async throws {
        let lines = [DamagedJournalTests.header(), DamagedJournalTests.line(), DamagedJournalTests.line(changes), ""]
        let outcome = try await shrink(lines.joined(separator: "\n"))
        #expect(outcome.status == 2)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.hasPrefix("journal.jsonl:3: \(problem)"), "\(outcome.errors)")
        #expect(outcome.errors.hasSuffix("(delete the line, or write the journal again with squall run --journal)\n"))
    }

    /// The documented words for fault effects.
    private static func words() throws -> [String] {
        let row = try Repository.text("docs/journal.md").split(separator: "\n").first { $0.hasPrefix("| `what` |") }
        return (row ?? "").matches(of: /`([^`]+)`/).map { String($0.output.1) }.filter { $0 != "what" }
    }

    @Test func `every word of the page for what a fault does is one of a journal`() async throws {
        let words = try DamagedJournalTests.words()
        #expect(words.count > 10)
        let lines = words.map { DamagedJournalTests.line(["what": "\"\($0)\""]) }
        let text = ([DamagedJournalTests.header()] + lines + [""]).joined(separator: "\n")
        let outcome = try await shrink(text)
        #expect(outcome.errors.contains("doesn't fail with all \(words.count - 1) faults"), "\(outcome.errors)")
    }

    @Test func `a line about a proxy or a whole connection, and one of a phase, are lines as well`() async throws {
        let about = ["offset": "", "direction": "", "connection": ""]
        let lines = [
            DamagedJournalTests.header(),
            DamagedJournalTests.line(about.merging(["fault": #""gone/outage""#, "what": #""refuses""#]) { $1 }),
            DamagedJournalTests.line(["fault": #""late""#, "what": #""delays""#, "offset": "", "direction": ""]),
            DamagedJournalTests.line(["what": #""isn't HTTP""#, "direction": ""]), "",
        ]
        let outcome = try await shrink(lines.joined(separator: "\n"))
        #expect(outcome.errors == "squall: the command doesn't fail with all 2 faults of the journal\n")
    }

    @Test(arguments: ["{\"connection\":1,\"dire", "nothing", "\0\0\0"])
    func `a last line that was torn off is left out, and that is told`(rest: String) async throws {
        let text = [DamagedJournalTests.header(), DamagedJournalTests.line(), "", rest].joined(separator: "\n")
        let outcome = try await shrink(text)
        #expect(outcome.errorLines.first == "squall: journal.jsonl:4: the last line is torn off, and left out")
        #expect(outcome.errorLines.last == "squall: the command doesn't fail with the fault of the journal")
        let ended = try await shrink(text + "\n")
        #expect(ended.status == 2)
        #expect(ended.errors.hasPrefix("journal.jsonl:4: this is no line of a journal: it is no object of JSON ("))
    }

    @Test(arguments: [#""fault":"cut","#, ""])
    func `lines that count those left out are told, and the others are acted again`(fault: String) async throws {
        let omission = #"{"event":"omitted",\#(fault)"lines":312,"proxy":"p","time":"2026-11-21T14:20:16.002Z"}"#
        let lines = [DamagedJournalTests.header(), omission, DamagedJournalTests.line(), omission, ""]
        let outcome = try await shrink(lines.joined(separator: "\n"))
        #expect(
            outcome.errorLines.first?.contains("is incomplete: 624 lines were left out") == true,
            "\(outcome.errors)"
        )
        #expect(outcome.errorLines.last == "squall: the command doesn't fail with the fault of the journal")
    }

    @Test func `a last line that only lacks its end counts, and has to be one of a journal`() async throws {
        let text = DamagedJournalTests.header() + "\n" + DamagedJournalTests.line()
        let whole = try await shrink(text)
        #expect(whole.errors == "squall: the command doesn't fail with the fault of the journal\n")
        let other = try await shrink(text + "\n{}")
        #expect(other.status == 2)
        #expect(other.errors.hasPrefix("journal.jsonl:3: this is no line of a journal: “proxy” is missing"))
    }

    @Test func `lines may end as on other systems`() async throws {
        let lines = [DamagedJournalTests.header(), "", DamagedJournalTests.line(), DamagedJournalTests.line()]
        let text = lines.joined(separator: "\r\n") + "\r\n"
        let outcome = try await shrink(text)
        #expect(outcome.errors == "squall: the command doesn't fail with the fault of the journal\n")
        let wrong = try await shrink(text + DamagedJournalTests.line(["connection": "0"]) + "\r\n")
        #expect(wrong.errors.hasPrefix("journal.jsonl:5: “connection” is 0"))
    }

    @Test func `blank lines take no memory, and lines beyond the limit are refused`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("journal.jsonl")
            let script = "ulimit -v 1000000 && exec \"$0\" \"$@\""
            let options = ["-c", script, Programs.squall.path, "shrink", "journal.jsonl", "--", "true"]
            try Data(repeating: UInt8(ascii: "\n"), count: 16 << 20).write(to: file)
            let blank = try await withChild(Programs.find("sh"), options, folder: folder) { await $0.finish() }
            #expect(blank.errors.contains("doesn't begin with a journal's header"), "\(blank)")
        }
        let many = Array(repeating: "{}", count: 65_537)
        let outcome = try await shrink(([DamagedJournalTests.header()] + many).joined(separator: "\n"))
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("has more than 65536 lines: delete those that it can do without"))
        let most = try await shrink(([DamagedJournalTests.header()] + many.dropLast()).joined(separator: "\n"))
        #expect(most.errors.hasPrefix("journal.jsonl:2: this is no line of a journal"), "\(most.errors)")
    }

    @Test func `a replay refuses what a search does`() async throws {
        try await withFolder { folder in
            let text = DamagedJournalTests.header() + "\n" + DamagedJournalTests.line(["offset": "-1"]) + "\n"
            try Data(text.utf8).write(to: folder.appendingPathComponent("journal.jsonl"))
            let outcome = try await squall("replay", "journal.jsonl", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.hasPrefix("journal.jsonl:2: “offset” is -1, below 0"))
        }
    }
}
