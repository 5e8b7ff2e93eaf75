import FaultProfile
import Testing
import Units

@testable import FaultPlan

/// Faults for some targets only.
@Suite struct HostConditionTests {
    private func plan(_ pattern: String) throws -> Plan {
        let cut = FaultKind.cut(Cut(position: .at(ByteCount(10)), how: .reset))
        let fault = Fault(
            name: "cut",
            stream: .upstream,
            condition: Condition(hosts: [try HostPattern(parsing: pattern)]),
            kind: cut
        )
        return Plan(profile: Profile(name: "test", faults: [fault]), seed: 1, proxy: "p", start: .zero)
    }

    @Test func `are off where the target is unknown, and on where it matches`() throws {
        var plan = try plan("*.example.com")
        #expect(plan.asksForHost)
        #expect(plan.accept(at: .zero).upstream.isTransparent)
        let provisional = plan.acceptUnplanned(at: .seconds(1))
        #expect(provisional.ordinal == 2 && provisional.awaitsTarget && provisional.upstream.isTransparent)
        for (host, isOn) in [("a.example.com", true), ("example.com", false), ("a.example.org", false)] {
            let connection = plan.plan(ofConnection: 2, opened: .seconds(1), client: nil, host: host)
            #expect(connection.upstream.isTransparent == !isOn, "\(host)")
            #expect(connection.downstream.isTransparent)
            #expect(connection.ordinal == 2 && connection.opened == .seconds(1) && !connection.awaitsTarget)
        }
    }

    @Test func `an outage for some targets doesn't close the listener`() throws {
        let outage = Fault(
            name: "outage",
            condition: Condition(hosts: [try HostPattern(parsing: "a")]),
            kind: .outage(Outage(how: .refuse))
        )
        var plan = Plan(profile: Profile(name: "test", faults: [outage]), seed: 1, proxy: "p", start: .zero)
        #expect(plan.admission(at: .zero).admission == .open)
        #expect(plan.plan(ofConnection: 1, opened: .zero, client: nil, host: "b").faults === ConnectionFaults.none)
        let faults = plan.plan(ofConnection: 1, opened: .zero, client: nil, host: "a").faults
        #expect(faults.terminators.arePossible)
    }

    @Test func `without them nothing is asked for`() {
        #expect(!Plan(profile: Profile(name: "none"), seed: 1, proxy: "p", start: .zero).asksForHost)
    }
}
