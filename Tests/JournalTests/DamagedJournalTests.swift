import Digests
import Journal
import Testing

/// Edited, truncated and concatenated journals.
@Suite struct DamagedJournalTests {
    private static let profile = """
        {"name":"x","faults":[{"name":"cut","kind":"cut","at":"1 KB","how":"reset"},\
        {"name":"late","kind":"latency","delay":"1 ms"}],"phases":[{"name":"gone","faults":[\
        {"name":"gone/outage","kind":"outage","how":"refuse"}]}]}
        """
    private static let proxies = #"[{"name":"p","seed":7,"upstream":"127.0.0.1:9"}]"#

    private static func header(proxies: String = proxies, digest: String? = nil) -> String {
        let digest = digest ?? SHA256.hash(profile.utf8).hexadecimal
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

    /// What is wrong with a journal, behind the number of the line if it is one; empty for a sound one.
    private func problem(of text: String) -> String {
        do throws(RecordedJournal.Failure) {
            _ = try recordedJournal(text)
            return ""
        } catch {
            switch error {
            case .journal(let problem):
                let line = problem.line.map { "\($0): " } ?? ""
                return "\(line)\(problem.what) (\(problem.remedy))"
            case .profile(let problems): return problems.description
            }
        }
    }

    /// The faults of a journal that are replayed.
    private func units(of journal: RecordedJournal) throws -> [ReplayPlan.Unit] {
        let proxy = try #require(journal.header.proxies.first)
        return journal.plan(for: proxy).units
    }

    @Test(
        arguments: [
            ("", "doesn't begin with a journal's header"), ("{}\n", "doesn't begin with a journal's header"),
            (String(repeating: "\n", count: 100), "doesn't begin with a journal's header"),
            (
                #"{"digest":"","event":"journal","profile":{"name":"x","fault":[]},"proxies":[],"version":"1"}"# + "\n",
                "journal.jsonl:1:"
            ),
            (
                DamagedJournalTests.header(digest: String(repeating: "0", count: 64)) + "\n",
                "1: “digest” isn't that of the profile in this header"
            ),
            (DamagedJournalTests.header(proxies: "[]") + "\n", "1: the header has no proxy"),
            (
                DamagedJournalTests.header().replacing(#","version":"1""#, with: "") + "\n",
                "1: this is no line of a journal: “version” is missing (write the journal again"
            ),
            (
                DamagedJournalTests.header().replacing(#""1"}"#, with: "1}") + "\n",
                "1: this is no line of a journal: it has a value of another type than a journal has (write the journal"
            ),
            (
                DamagedJournalTests.header() + "\n" + DamagedJournalTests.header() + "\n",
                "2: a second journal begins here (move the lines from here on"
            ),
            (
                DamagedJournalTests.header() + "\n" + #"{"event":"future","proxy":"p"}"# + "\n",
                "2: “future” is not an event of a journal (“event”) (replay it with the version"
            ),
            ("\r\n \n" + DamagedJournalTests.header(proxies: "[]") + "\n", "3: the header has no proxy"),
        ] as [(String, String)]
    )
    func `a text without a sound header is refused with the reason`(text: String, expected: String) {
        let told = problem(of: text)
        #expect(told.hasPrefix(expected), "\(told)")
        #expect(told.split(separator: "\n").count == 1, "\(told)")
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
        expected: String
    ) {
        let lines = [DamagedJournalTests.header(), DamagedJournalTests.line(), DamagedJournalTests.line(changes), ""]
        let told = problem(of: lines.joined(separator: "\n"))
        #expect(told.hasPrefix("3: \(expected)"), "\(told)")
        #expect(told.hasSuffix(" (delete the line, or write the journal again with squall run --journal)"), "\(told)")
    }

    @Test func `a line about a proxy or a whole connection, and one of a phase, are lines as well`() throws {
        let about = ["offset": "", "direction": "", "connection": ""]
        let lines = [
            DamagedJournalTests.header(),
            DamagedJournalTests.line(about.merging(["fault": #""gone/outage""#, "what": #""refuses""#]) { $1 }),
            DamagedJournalTests.line(["fault": #""late""#, "what": #""delays""#, "offset": "", "direction": ""]),
            DamagedJournalTests.line(["what": #""isn't HTTP""#, "direction": ""]), "",
        ]
        #expect(try units(of: recordedJournal(lines.joined(separator: "\n"))).count == 2)
    }

    @Test(arguments: ["{\"connection\":1,\"dire", "nothing", "\0\0\0"])
    func `a torn last line is left out, and its number is reported`(rest: String) throws {
        let text = [DamagedJournalTests.header(), DamagedJournalTests.line(), "", rest].joined(separator: "\n")
        let journal = try recordedJournal(text)
        #expect(journal.torn == 4)
        #expect(try units(of: journal).count == 1)
        let told = problem(of: text + "\n")
        #expect(told.hasPrefix("4: this is no line of a journal: it is no object of JSON ("), "\(told)")
    }

    @Test(arguments: [#""fault":"cut","#, ""])
    func `omitted lines are counted, and the others are replayed`(fault: String) throws {
        let omission = #"{"event":"omitted",\#(fault)"lines":312,"proxy":"p","time":"2026-11-21T14:20:16.002Z"}"#
        let lines = [DamagedJournalTests.header(), omission, DamagedJournalTests.line(), omission, ""]
        let journal = try recordedJournal(lines.joined(separator: "\n"))
        #expect(journal.omitted == 624)
        #expect(try units(of: journal).count == 1)
    }

    @Test func `a last line that only lacks its end counts, and has to be one of a journal`() throws {
        let text = DamagedJournalTests.header() + "\n" + DamagedJournalTests.line()
        let journal = try recordedJournal(text)
        #expect(journal.torn == nil)
        #expect(try units(of: journal).count == 1)
        let told = problem(of: text + "\n{}")
        #expect(told.hasPrefix("3: this is no line of a journal: “proxy” is missing"), "\(told)")
    }

    @Test func `lines may end as on other systems`() throws {
        let lines = [DamagedJournalTests.header(), "", DamagedJournalTests.line(), DamagedJournalTests.line()]
        let text = lines.joined(separator: "\r\n") + "\r\n"
        #expect(try units(of: recordedJournal(text)).count == 1)
        let told = problem(of: text + DamagedJournalTests.line(["connection": "0"]) + "\r\n")
        #expect(told.hasPrefix("5: “connection” is 0"), "\(told)")
    }

    @Test func `lines beyond the limit are refused`() {
        let many = [DamagedJournalTests.header()] + Array(repeating: "{}", count: 65_537)
        let told = problem(of: many.joined(separator: "\n"))
        #expect(told == "has more than 65536 lines (delete those that it can do without)")
        let most = problem(of: many.dropLast().joined(separator: "\n"))
        #expect(most.hasPrefix("2: this is no line of a journal"), "\(most)")
    }
}
