import Digests
import FaultProfile
import Journal
import Testing

/// The replay of a journal that has been read.
@Suite("The plan of a journal")
struct RecordedJournalTests {
    private static let profile = """
        {"name":"x","faults":[{"name":"A","kind":"cut","stream":"downstream","at":"1 KB","how":"close"},\
        {"name":"B","kind":"latency","delay":"1 ms","when":{"after":"A"}}]}
        """

    private func journal(_ lines: [String]) throws -> (RecordedJournal, JournalHeader.ProxyEntry) {
        let digest = SHA256.hash(Self.profile.utf8).hexadecimal
        let proxies = #"[{"name":"p","seed":7,"upstream":"any host"}]"#
        let header =
            #"{"digest":"\#(digest)","event":"journal","profile":\#(Self.profile),"proxies":\#(proxies),"version":"1"}"#
        let journal = try recordedJournal(([header] + lines + [""]).joined(separator: "\n"))
        return (journal, try #require(journal.header.proxies.first))
    }

    /// The line of a cut, at a second of its minute.
    private func cut(_ connection: Int, at second: Int? = nil) -> String {
        let time = second.map { #""time":"2026-11-21T14:20:\#($0).000Z","# } ?? ""
        return #"{"connection":\#(connection),"direction":"downstream","fault":"A","offset":1000,"proxy":"p","#
            + #"\#(time)"what":"closes"}"#
    }

    private func connect(_ connection: Int, to target: String, number: Int) -> String {
        #"{"connection":\#(connection),"event":"connect","number":\#(number),"proxy":"p","target":"\#(target)"}"#
    }

    private func connections(_ plan: ReplayPlan) -> [ConnectionSelection] {
        plan.everything.faults.filter { $0.name == "A" }.map(\.condition.connections)
    }

    @Test func `has the numbers of the connections to a target where all connections go to one server`() throws {
        let connects = [("10.0.0.1:80", 1), ("10.0.0.2:80", 1), ("10.0.0.2:80", 2)].enumerated()
            .map { connect($0 + 1, to: $1.0, number: $1.1) }
        let (journal, proxy) = try journal([cut(2), cut(3)] + connects)
        #expect(journal.targets(of: proxy) == ["10.0.0.2:80"])
        let byTarget = journal.plan(for: proxy)
        #expect(connections(byTarget) == [.perTarget(.range(1...1)), .perTarget(.range(2...2))])
        let moved = journal.plan(for: proxy, to: "127.0.0.1:9")
        #expect(connections(moved) == [.range(1...1), .range(2...2)])
        let written = moved.profile(keeping: moved.units, isNamedApart: true).faults
        #expect(written.map(\.name) == ["A of connection 1", "A of connection 2"])
        #expect(written.allSatisfy { $0.condition.hosts.isEmpty })
    }

    @Test func `of several targets has the faults of the server's, or else all by their connections`() throws {
        let connects = [("10.0.0.1:80", 1), ("10.0.0.2:80", 1), ("10.0.0.1:80", 2)].enumerated()
            .map { connect($0 + 1, to: $1.0, number: $1.1) }
        let (journal, proxy) = try journal([cut(1), cut(2), cut(3)] + connects)
        #expect(journal.targets(of: proxy) == ["10.0.0.1:80", "10.0.0.2:80"])
        #expect(connections(journal.plan(for: proxy, to: "10.0.0.1:80")) == [.range(1...1), .range(2...2)])
        let all = connections(journal.plan(for: proxy, to: "127.0.0.1:9"))
        #expect(all == [.range(1...1), .range(2...2), .range(3...3)])
    }

    @Test func `of a sorted journal has its faults in the order of their times`() throws {
        let late = #"{"connection":3,"fault":"B","proxy":"p","time":"2026-11-21T14:20:12.000Z","what":"delays"}"#
        let (journal, proxy) = try journal([cut(1, at: 13), cut(2, at: 11), late])
        let plan = journal.plan(for: proxy)
        #expect(journal.hasTimes && plan.faultAfterSeveral(in: plan.units)?.trigger == "A")
        let written = plan.profile(keeping: plan.units, isNamedApart: true).faults
        #expect(written.first { $0.name == "B" }?.condition.after == "A of connection 2")
        let one = plan.units.filter { if case .event(let event) = $0 { event.connection == 2 } else { true } }
        #expect(plan.faultAfterSeveral(in: one) == nil)
    }

    @Test(
        arguments: [
            (0, "connections count from 1"), (1_000_000_000_000, "“number” is 1000000000000, above 999999999999"),
        ]
    )
    func `has no connection of such a number`(number: Int, problem: String) throws {
        do {
            _ = try journal([connect(1, to: "10.0.0.1:80", number: number)])
            Issue.record("the journal is read")
        } catch RecordedJournal.Failure.journal(let found) {
            #expect(found.what == problem)
        }
    }

    @Test func `without times has the order of the lines`() throws {
        let (journal, proxy) = try journal([cut(2), cut(1)])
        #expect(!journal.hasTimes && connections(journal.plan(for: proxy)) == [.range(2...2), .range(1...1)])
    }
}
