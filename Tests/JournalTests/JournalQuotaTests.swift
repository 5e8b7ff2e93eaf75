import FaultPlan
import FaultProfile
import Journal
import Testing
import Units

/// How many entries a journal takes in a second.
@Suite("A journal's quota")
struct JournalQuotaTests {
    private func entry(_ fault: String, at moment: Moment) -> JournalEntry {
        JournalEntry(
            moment: moment,
            proxy: "p",
            connection: 1,
            direction: .upstream,
            fault: fault,
            kind: FaultKind.Name.allCases[0],
            offset: nil,
            effect: .stalls
        )
    }

    /// How many of `count` entries are taken.
    private func taken(_ count: Int, of fault: String, at moment: Moment, _ quota: inout JournalQuota) -> Int {
        (0..<count).filter { _ in quota.admit(entry(fault, at: moment)).isTaken }.count
    }

    @Test
    func `takes 2,000 entries of a fault in a second, and tells the others when it is over`() {
        var quota = JournalQuota()
        let many = taken(2_500, of: "a", at: .milliseconds(1_100), &quota)
        let few = taken(3, of: "b", at: .milliseconds(1_900), &quota)
        #expect(many == 2_000 && few == 3)
        let next = quota.admit(entry("a", at: .seconds(2)))
        #expect(next.isTaken)
        #expect(next.omissions.map(\.fault) == ["a"] && next.omissions.map(\.count) == [500])
        let rest = quota.takeOmissions()
        #expect(rest == [] && quota.omissions == 500)
    }

    @Test
    func `takes 4,000 of all faults, and the first 10 of each whatever the others do`() {
        var quota = JournalQuota()
        var all = 0
        for fault in ["a", "b", "c"] { all += taken(3_000, of: fault, at: .seconds(1), &quota) }
        let quiet = taken(50, of: "quiet", at: .seconds(1), &quota)
        #expect(all == 4_010 && quiet == 10)
        let omitted = quota.takeOmissions().map(\.fault)
        #expect(omitted == ["a", "b", "c", "quiet"])
    }

    @Test
    func `counts what a loop tells late with the second that has begun`() {
        var quota = JournalQuota()
        let first = taken(2_000, of: "a", at: .seconds(5), &quota)
        let late = taken(1, of: "a", at: .milliseconds(4_999), &quota)
        #expect(first == 2_000 && late == 0)
    }
}

extension Moment {
    fileprivate static func milliseconds(_ count: Int64) -> Moment { Moment(nanoseconds: count * 1_000_000) }
    fileprivate static func seconds(_ count: Int64) -> Moment { Moment(nanoseconds: count * 1_000_000_000) }
}
