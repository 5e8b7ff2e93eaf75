import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

/// Faults for the name in a client's first bytes, which come to a connection that lives already.
@Suite struct NamingTests {
    private func fault(_ kind: FaultKind, for hosts: String..., ageUntil: Duration? = nil) throws -> Fault {
        var patterns: [HostPattern] = []
        for host in hosts { patterns.append(try HostPattern(parsing: host)) }
        let condition = Condition(ageUntil: ageUntil, hosts: patterns)
        return Fault(name: kind.name.rawValue, stream: .upstream, condition: condition, kind: kind)
    }

    private func admitter(_ faults: Fault...) -> Admitter {
        Admitter(Plan(profile: Profile(name: "test", faults: faults), seed: 1, proxy: "p", start: .zero))
    }

    private func update(_ admitter: inout Admitter, target: HostName? = nil, name: HostName) -> ConnectionUpdate {
        admitter.update(ofConnection: 1, opened: .zero, ConnectionFacts(target: target, name: name))
    }

    private static let cut = FaultKind.cut(Cut(position: .at(ByteCount(10)), how: .reset))

    @Test func `a name brings the faults that are for it, at their offsets`() throws {
        var admitter = admitter(try fault(Self.cut, for: "*.example"), Fault(name: "all", kind: Self.cut))
        var connection = admitter.accept(at: .zero)
        #expect(!admitter.plan.hasFaults(forNameOf: 1, ConnectionFacts(name: "a.other")))
        #expect(update(&admitter, name: "a.other").isEmpty)
        #expect(admitter.plan.hasFaults(forNameOf: 1, ConnectionFacts(name: "A.example.")))
        let update = update(&admitter, name: "A.example.")
        #expect(!update.isEmpty && update.hold(after: nil) == nil)
        _ = update.apply(to: &connection.upstream, &connection.downstream, at: .zero)
        #expect(connection.upstream.decide(available: 100, now: .zero).readLimit == 10)
    }

    @Test func `a fault that the target has brought isn't brought again`() throws {
        var admitter = admitter(try fault(Self.cut, for: "192.0.2.7", "*.example"))
        #expect(!admitter.plan.hasFaults(forNameOf: 1, ConnectionFacts(target: "192.0.2.7", name: "a.example")))
        #expect(update(&admitter, target: "192.0.2.7", name: "a.example").isEmpty)
        #expect(!update(&admitter, target: "192.0.2.8", name: "a.example").isEmpty)
    }

    @Test func `a list of offsets takes its turns in the order of the names`() throws {
        let list = FaultKind.cut(Cut(position: .inTurn([ByteCount(10), ByteCount(20)]), how: .reset))
        var admitter = admitter(try fault(list, for: "a"))
        for limit: Int64 in [10, 20] {
            var connection = admitter.accept(at: .zero)
            _ = update(&admitter, name: "a").apply(to: &connection.upstream, &connection.downstream, at: .zero)
            #expect(connection.upstream.decide(available: 100, now: .zero).readLimit == limit)
        }
    }

    @Test func `a refusal ends the connection when the name is known`() throws {
        var admitter = admitter(try fault(.connect(Connect(how: .refuse)), for: "a"))
        var state = ConnectionState(admitter.accept(at: .zero).faults, opened: .zero)
        #expect(state.terminated(at: .zero) == nil)
        state.update(update(&admitter, name: "a"), passed: 0, at: .seconds(1))
        #expect(state.terminated(at: .seconds(1))?.event?.effect == .resets)
    }

    @Test func `a delay of connecting begins with the first look, and acts once`() throws {
        var admitter = admitter(try fault(.connect(Connect(how: .delay(.milliseconds(80), jitter: .zero))), for: "a"))
        var hold = try #require(update(&admitter, name: "a").hold(after: nil))
        let first = hold.advance(at: .milliseconds(20))
        #expect(first.verdict == .wait(until: .milliseconds(100)))
        #expect(first.event?.effect == .connectsLate)
        let second = hold.advance(at: .milliseconds(99))
        #expect(second.verdict == .wait(until: .milliseconds(100)) && second.event == nil)
        #expect(hold.advance(at: .milliseconds(100)).verdict == .pass)
    }

    @Test func `a hang lasts as long as its fault is on`() throws {
        var admitter = admitter(try fault(.connect(Connect(how: .hang)), for: "a", ageUntil: .milliseconds(80)))
        var hold = try #require(update(&admitter, name: "a").hold(after: nil))
        let first = hold.advance(at: .milliseconds(20))
        #expect(first.verdict == .wait(until: .milliseconds(80)))
        #expect(first.event?.effect == .hangs)
        #expect(hold.advance(at: .milliseconds(30)).event == nil)
        #expect(hold.advance(at: .milliseconds(80)).verdict == .pass)
    }

    @Test func `a profile without the fault has the bytes pass`() throws {
        for how in [Connect.Mode.hang, .delay(.seconds(80), jitter: .zero)] {
            var admitter = admitter(try fault(.connect(Connect(how: how)), for: "a"))
            var hold = try #require(update(&admitter, name: "a").hold(after: nil))
            guard case .wait = hold.advance(at: .zero).verdict else {
                Issue.record("the bytes don't wait")
                continue
            }
            let change = admitter.apply(Profile(name: "none"))
            let next = change.update(connection: 1, opened: .zero, ConnectionFacts(name: "a"))
            hold = try #require(next.hold(after: hold))
            #expect(hold.advance(at: .seconds(1)).verdict == .pass)
        }
    }

    @Test func `a handshake whose packets are all lost fails the connection`() throws {
        var admitter = admitter(try fault(.loss(Loss(rate: .always, roundTrip: .milliseconds(10))), for: "a"))
        var hold = try #require(update(&admitter, name: "a").hold(after: nil))
        guard case .wait(let moment) = hold.advance(at: .zero).verdict else {
            Issue.record("the bytes don't wait")
            return
        }
        #expect(hold.advance(at: moment).verdict == .fail)
    }

    @Test func `a change of the profile acts by any of the names`() throws {
        var admitter = admitter()
        let change = admitter.apply(Profile(name: "new", faults: [try fault(Self.cut, for: "a")]))
        for (target, name, isHit) in [
            (nil, nil, false), ("192.0.2.7", "a", true), (nil, "a", true), ("a", nil, true), ("192.0.2.7", nil, false),
        ] as [(HostName?, HostName?, Bool)] {
            let facts = ConnectionFacts(target: target, name: name)
            #expect(change.update(connection: 1, opened: .zero, facts).isEmpty == !isHit)
        }
    }
}
