import FaultPlan
import FaultProfile
import Journal
import Testing
import Units

@Suite("A replay of faults in order")
struct OrderedReplayTests {
    private let text = """
        { "name": "x", "faults": [
            { "kind": "cut", "name": "crash", "stream": "downstream", "at": ["1 KB", "2 KB"] },
            { "kind": "latency", "name": "late", "delay": "3 ms", "when": { "after": "crash" } },
            { "kind": "bandwidth", "name": "slow", "rate": "1 MB/s", "when": { "after": "late", "client": "10.0.0.0/8" } } ],
          "phases": [ { "name": "a", "faults": [
            { "kind": "outage", "how": "silence", "when": { "after": "crash", "clock": "9 h" } } ] } ] }
        """

    private func event(_ connection: UInt64, _ fault: String, _ offset: Int64? = nil) -> RecordedFaultEvent {
        RecordedFaultEvent(
            proxy: "p",
            connection: connection,
            direction: .downstream,
            fault: fault,
            offset: offset,
            what: "acts"
        )
    }

    private func plan() throws -> ReplayPlan {
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let events = [event(1, "crash", 1_000), event(2, "crash", 2_000), event(2, "late"), event(3, "slow")]
        return ReplayPlan(profile: profile, seed: 1, events: events)
    }

    @Test func `waits for the fault events of the journal`() throws {
        let everything = try plan().everything
        #expect(everything.faults.map(\.name) == ["late", "slow", "crash", "crash"])
        var admitter = Admitter(Plan(profile: everything, seed: 1, proxy: "p", start: .zero))
        _ = admitter.accept(at: .zero)
        admitter.plan.noteEvent(of: 3)
        #expect(admitter.accept(at: .zero).upstream.takesAhead, "whichever of the strikes it was")
    }

    @Test func `waits for fault events that are named apart, and is read again`() throws {
        let plan = try plan()
        let written = plan.profile(keeping: plan.units, isNamedApart: true)
        #expect(written.faults.map(\.condition.after) == ["crash of connection 1", "late", nil, nil])
        let read = try ProfileReader.profile(
            from: ProfileSource(file: "shrunk.json", text: ProfileWriter.text(of: written))
        )
        #expect(read == written)
    }

    @Test func `leaves out what waits for something that was left out`() throws {
        let plan = try plan()
        let late = plan.profile(keeping: [.fault("late"), .fault("slow")], isNamedApart: true)
        #expect(late.faults.isEmpty && late.phases.isEmpty)
        let without = plan.profile(keeping: [.event(event(2, "crash", 2_000)), .fault("slow")])
        #expect(without.faults.map(\.name) == ["crash"])
    }
}
