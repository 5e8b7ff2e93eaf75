import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

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
        var admitter = try Admitter(plan("*.example.com"))
        #expect(admitter.plan.asksForHost)
        #expect(admitter.accept(at: .zero).upstream.isTransparent)
        for (index, (host, isOn)) in [("a.example.com", true), ("example.com", false), ("a.example.org", false)]
            .enumerated()
        {
            let connection = admitter.accept(at: .seconds(1), ConnectionFacts(target: HostName(host, port: 443)))
            #expect(connection.upstream.isTransparent == !isOn, "\(host)")
            #expect(connection.downstream.isTransparent)
            #expect(connection.ordinal == UInt64(index + 2) && connection.opened == .seconds(1))
        }
    }

    @Test func `a port narrows them further`() throws {
        var admitter = try Admitter(plan("localhost:3000"))
        let ports: [UInt16?] = [3_000, 3_001, nil]
        let isOn = ports.map {
            !admitter.accept(at: .zero, ConnectionFacts(target: HostName("localhost", port: $0))).upstream.isTransparent
        }
        #expect(isOn == [true, false, false])
        let isBrought = [3_000, 3_001].map { port in
            admitter.plan.hasFaults(
                forNameOf: 1,
                ConnectionFacts(target: "127.0.0.1", name: HostName("localhost", port: port))
            )
        }
        #expect(isBrought == [true, false])
    }

    @Test func `a port of the target counts in place of the upstream's, and an unknown one is in no range`() {
        let stall = FaultKind.stall(Stall(at: .zero, duration: .seconds(1)))
        let condition = Condition(ports: [443...443, 1_024...65_535])
        let profile = Profile(name: "x", faults: [Fault(name: "stall", condition: condition, kind: stall)])
        var admitter = Admitter(Plan(profile: profile, seed: 1, proxy: "p", start: .zero))
        #expect(!admitter.plan.asksForHost && !admitter.plan.asksForClient)
        func isOn(_ facts: ConnectionFacts) -> Bool { !admitter.accept(at: .zero, facts).upstream.isTransparent }
        let ports: [UInt16?] = [1, 442, 443, 444, 1_023, 1_024, 65_535, nil]
        #expect(
            ports.map { isOn(ConnectionFacts(port: $0)) } == [false, false, true, false, false, true, true, false]
        )
        #expect(isOn(ConnectionFacts(target: HostName("a", port: 443), port: 80)))
        #expect(!isOn(ConnectionFacts(target: HostName("a", port: 80), port: 443)))
        #expect(isOn(ConnectionFacts(name: "a", port: 443)))
    }

    @Test func `connections to each target count from 1`() {
        let condition = Condition(connections: .perTarget(.range(2...2)))
        let stall = FaultKind.stall(Stall(at: .zero, duration: .seconds(1)))
        let profile = Profile(name: "x", faults: [Fault(name: "stall", condition: condition, kind: stall)])
        var admitter = Admitter(Plan(profile: profile, seed: 1, proxy: "p", start: .zero))
        let hits = ["a", "b", "A", "a", "c", "B"].map { host in
            let plan = admitter.accept(at: .zero, ConnectionFacts(target: HostName(host, port: 80)))
            return plan.upstream.isTransparent ? 0 : plan.numberAtTarget ?? 0
        }
        #expect(hits == [0, 0, 2, 0, 0, 2])
        // Without a target all have the same one.
        var other = Admitter(admitter.plan)
        #expect((1...3).map { _ in other.accept(at: .zero).upstream.isTransparent } == [true, false, true])
        #expect(condition.sentence == "connection 2 to each target")
    }

    @Test func `targets beyond the limit share a count`() {
        var counts = TargetCounts()
        let numbers = (0...TargetCounts.limit + 1).map { counts.next(HostName("h\($0)")) }
        #expect(numbers.suffix(3) == [1, 1, 2])
        #expect(counts.next("h0") == 2)
    }

    @Test func `an outage for some ports doesn't close the listener`() {
        let outage = Fault(name: "o", condition: Condition(ports: [80...80]), kind: .outage(Outage(how: .refuse)))
        var admitter = Admitter(Plan(profile: Profile(name: "x", faults: [outage]), seed: 1, proxy: "p", start: .zero))
        #expect(admitter.plan.admission(at: .zero).admission == .open)
        #expect(admitter.accept(at: .zero, ConnectionFacts(port: 80)).faults.terminators.arePossible)
        #expect(admitter.accept(at: .zero, ConnectionFacts(port: 81)).faults === ConnectionFaults.none)
    }

    @Test func `a connection without a target has no number and no fault, and takes no turn of a list`() {
        let cut = FaultKind.cut(Cut(position: .inTurn([ByteCount(10), ByteCount(20)]), how: .reset))
        let profile = Profile(name: "test", faults: [Fault(name: "cut", stream: .upstream, kind: cut)])
        var admitter = Admitter(Plan(profile: profile, seed: 1, proxy: "p", start: .zero))
        for _ in 0..<3 {
            let waiting = admitter.plan.unnumbered(at: .seconds(1))
            #expect(waiting.ordinal == 0 && waiting.upstream.isTransparent)
            #expect(waiting.faults === ConnectionFaults.none)
        }
        let accepted = (1...3).map { _ in admitter.accept(at: .seconds(2)).upstream.isTransparent }
        #expect(accepted == [false, false, true])
        #expect(admitter.accept(at: .seconds(2)).ordinal == 4)
    }

    @Test func `an outage for some targets doesn't close the listener`() throws {
        let outage = Fault(
            name: "outage",
            condition: Condition(hosts: [try HostPattern(parsing: "a")]),
            kind: .outage(Outage(how: .refuse))
        )
        var admitter = Admitter(
            Plan(profile: Profile(name: "test", faults: [outage]), seed: 1, proxy: "p", start: .zero)
        )
        #expect(admitter.plan.admission(at: .zero).admission == .open)
        #expect(admitter.accept(at: .zero, ConnectionFacts(target: "b")).faults === ConnectionFaults.none)
        let faults = admitter.accept(at: .zero, ConnectionFacts(target: "a")).faults
        #expect(faults.terminators.arePossible)
    }

    @Test func `without them nothing is asked for`() {
        #expect(!Plan(profile: Profile(name: "none"), seed: 1, proxy: "p", start: .zero).asksForHost)
    }
}
