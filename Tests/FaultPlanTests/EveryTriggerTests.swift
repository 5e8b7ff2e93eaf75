import Testing
import Units

@testable import FaultPlan
@testable import FaultProfile

extension ConnectionFacts {
    fileprivate static func of(_ program: Program) -> ConnectionFacts {
        var facts = ConnectionFacts()
        facts.program = program
        return facts
    }
}

/// Every trigger is carried out: a key that the reader knows, and no plan asks for, fails here.
@Suite struct EveryTriggerTests {
    /// What a trigger may depend on.
    struct Situation {
        var proxy = "p"
        var ordinal: UInt64 = 1
        var facts = ConnectionFacts()
        var opened = Duration.zero
        /// The time on the proxy's clock at which a byte comes.
        var time = Duration.zero
        /// Whether the fault called "first" has acted.
        var hasActed = false
        var method = "GET"
    }

    /// A value of each trigger, a situation in which a fault with it is on, and one in which it is off.
    private static let samples: [String: (value: String, on: Situation, off: Situation)] = [
        "proxy": (#""a""#, Situation(proxy: "a"), Situation(proxy: "b")),
        "connection": ("2", Situation(ordinal: 2), Situation(ordinal: 1)),
        "chance": (#""50 %""#, Situation(ordinal: 2), Situation(ordinal: 1)),
        "age": (
            #""1 s..2 s""#, Situation(opened: .seconds(5), time: .seconds(6)),
            Situation(opened: .seconds(5), time: .seconds(7))
        ),
        "client": (
            #""10.0.0.0/8""#, Situation(facts: ConnectionFacts(client: "10.1.2.3")),
            Situation(facts: ConnectionFacts(client: "192.0.2.1"))
        ),
        "host": (
            #""*.example:80""#, Situation(facts: ConnectionFacts(target: HostName("a.example", port: 80))),
            Situation(facts: ConnectionFacts(target: HostName("a.example", port: 81)))
        ),
        "port": (
            #"[80, "8000..8999"]"#, Situation(facts: ConnectionFacts(port: 8_999)),
            Situation(facts: ConnectionFacts(port: 9_000))
        ),
        "program": (
            #"["curl", "/bin/sh"]"#, Situation(facts: .of(Program(name: "x", path: "/usr/bin/curl"))),
            Situation(facts: .of(Program(name: "sh", path: "/bin/bash")))
        ),
        "clock": (#""1 s..2 s""#, Situation(time: .seconds(1)), Situation(time: .seconds(2))),
        "duty": (#"{ "on": "1 s", "off": "1 s" }"#, Situation(time: .seconds(2)), Situation(time: .seconds(1))),
        "after": (#""first""#, Situation(hasActed: true), Situation()),
        "http": (#"{ "method": "PUT" }"#, Situation(method: "PUT"), Situation(method: "GET")),
    ]

    private func profile(when condition: String) throws -> Profile {
        let text = """
            { "name": "x", "faults": [ { "kind": "cut", "name": "first", "at": "1 GiB" },
                { "kind": "latency", "delay": "1 h", "when": \(condition) } ] }
            """
        return try ProfileReader.profile(from: ProfileSource(file: "x.json", text: text))
    }

    private func profile(_ key: String, _ value: String) throws -> Profile {
        try profile(when: "{ \"\(key)\": \(value) }")
    }

    private func condition(_ key: String, _ value: String) throws -> Condition {
        try #require(try profile(key, value).faults.last).condition
    }

    private func isOn(_ profile: Profile, in situation: Situation) -> Bool {
        let narrowed = profile.narrowed(to: situation.proxy)
        var admitter = Admitter(Plan(profile: narrowed, seed: 1, proxy: situation.proxy, start: .zero))
        if situation.hasActed { admitter.plan.noteEvent(of: 0) }
        let opened = Moment.zero + situation.opened
        for _ in 1..<situation.ordinal { _ = admitter.accept(at: opened, situation.facts) }
        let accepted = admitter.accept(at: opened, situation.facts)
        // The same profile applied while the connection lives.
        var live = Admitter(Plan(profile: Profile(name: "none"), seed: 1, proxy: situation.proxy, start: .zero))
        var connection = live.accept(at: opened, situation.facts)
        let change = live.apply(narrowed)
        if situation.hasActed { live.plan.noteEvent(of: change.plan.identities[0]) }
        _ = change.update(connection: situation.ordinal, opened: opened, situation.facts)
            .apply(to: &connection.upstream, &connection.downstream, at: opened)
        let delays = [accepted, connection].map { isDelayed($0.upstream, in: situation) }
        #expect(delays[0] == delays[1], "a live connection has the faults of one that is accepted")
        return delays[0]
    }

    private func isDelayed(_ given: Link, in situation: Situation) -> Bool {
        var link = given
        let now = Moment.zero + situation.time
        link.note(.message(Message(request: 1, method: situation.method, target: "/"), at: 0))
        _ = link.decide(available: 10, now: now)
        link.bytesArrived(10)
        return link.decide(available: 0, now: now).writeOffset == 0
    }

    @Test func `has a fault on in one situation and off in another`() throws {
        #expect(Set(EveryTriggerTests.samples.keys) == Set(Condition.table.shape.keys.map(\.name)))
        for (key, sample) in EveryTriggerTests.samples {
            let profile = try profile(key, sample.value)
            #expect(isOn(profile, in: sample.on), "\(key)")
            #expect(!isOn(profile, in: sample.off), "\(key)")
        }
        #expect(isOn(try profile(when: "{}"), in: Situation()))
    }

    @Test func `names the fact that it goes by`() throws {
        for (key, sample) in EveryTriggerTests.samples where sample.on.facts != ConnectionFacts() {
            let condition = try condition(key, sample.value)
            let asked = ConnectionFacts.Kind.allCases.filter(condition.asks)
            #expect(asked.count == 1 && asked.allSatisfy(sample.on.facts.has), "\(key)")
        }
    }

    @Test func `has a sentence, and narrows a profile or can't stand in its condition`() throws {
        for (key, sample) in EveryTriggerTests.samples {
            let condition = try condition(key, sample.value)
            #expect(!condition.sentence.isEmpty, "\(key)")
            let isForProfiles = Condition.profileTable.shape.keys.contains { $0.name == key }
            #expect(Condition().narrowed(to: condition) == (isForProfiles ? condition : Condition()), "\(key)")
        }
    }

    @Test func `has all of what a condition stores`() throws {
        var stored = Set(Mirror(reflecting: Condition()).children.compactMap(\.label))
        let usual = Mirror(reflecting: Condition()).children.map { "\($0.value)" }
        for (key, sample) in EveryTriggerTests.samples {
            for (child, usual) in zip(Mirror(reflecting: try condition(key, sample.value)).children, usual)
            where "\(child.value)" != usual {
                stored.remove(child.label ?? "")
            }
        }
        #expect(stored.isEmpty, "no trigger sets these")
    }
}
