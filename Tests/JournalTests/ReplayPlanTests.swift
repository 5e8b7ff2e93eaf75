import FaultPlan
import Journal
import SimulatedLink
import Testing
import Units

@testable import FaultProfile

@Suite("A replay")
struct ReplayPlanTests {
    private let text = """
        { "name": "x", "faults": [
            { "kind": "cut", "stream": "downstream", "between": ["1 KB", "90 KB"], "how": "close", "when": { "chance": "60 %" } },
            { "kind": "stall", "at": "500 B", "for": "20 ms", "when": { "connection": { "every": 2 } } },
            { "kind": "latency", "delay": "3 ms", "jitter": "1 ms" } ],
          "phases": [ { "name": "a", "for": "1 s", "faults": [ { "kind": "bandwidth", "rate": "1 MB/s" } ] },
            { "name": "b", "faults": [ { "kind": "cut", "every": "40 KB" } ] } ], "repeat": false }
        """

    private func profile() throws -> Profile {
        try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
    }

    /// What a journal tells of twelve connections that each bring 100 KB down, one after the other.
    private func journal(_ profile: Profile, seed: UInt64 = 3) -> [RecordedFaultEvent] {
        var admitter = Admitter(Plan(profile: profile, seed: seed, proxy: "p", start: .zero))
        return (0..<12).flatMap { index -> [RecordedFaultEvent] in
            let connection = admitter.accept(at: .zero + .milliseconds(index * 300))
            let arrival = LinkSimulation.Arrival(at: connection.opened, bytes: 100_000, end: .finish)
            var simulation = LinkSimulation(connection.downstream, arrivals: [arrival])
            simulation.run()
            return simulation.events.map { event in
                RecordedFaultEvent(
                    proxy: "p",
                    connection: connection.ordinal,
                    direction: .downstream,
                    fault: admitter.plan.faults[event.fault].name,
                    offset: event.offset,
                    what: event.effect.word
                )
            }
        }
    }

    @Test(arguments: 1...20)
    func `gives the journal again, line by line`(seed: Int) throws {
        let profile = try profile()
        let first = journal(profile, seed: UInt64(seed))
        #expect(first.contains { $0.what == "closes" } && first.contains { $0.what == "resets" })
        let replayed = ReplayPlan(profile: profile, seed: UInt64(seed), events: first).everything
        #expect(journal(replayed, seed: UInt64(seed)) == first)
    }

    @Test func `needs no draw for what a position decided: another seed acts at the same bytes`() throws {
        let first = journal(try profile())
        let replayed = ReplayPlan(profile: try profile(), seed: 3, events: first).everything
        #expect(journal(replayed, seed: 99).filter { $0.offset != nil } == first.filter { $0.offset != nil })
    }

    @Test func `makes a connection half-open at its byte, and what is about connecting as the profile says`() throws {
        let text = """
            { "name": "x", "faults": [
                { "kind": "half-open", "stream": "downstream", "at": "5 KB", "when": { "chance": "50 %" } },
                { "kind": "cut", "stream": "downstream", "at": "2 KB", "how": "silence", "when": { "chance": "50 %" } },
                { "kind": "connect", "how": "delay", "for": "1 s", "when": { "chance": "50 %" } },
                { "kind": "slow-close", "by": "1 s" } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let first = journal(profile)
        #expect(first.contains { $0.what == "silences" } && first.contains { $0.what == "falls silent" })
        let replayed = ReplayPlan(profile: profile, seed: 3, events: first).everything
        let again = journal(replayed)
        #expect(again == first)
        #expect(replayed.faults.filter { $0.kind.name.rawValue == "half-open" }.allSatisfy { $0.stream == .downstream })
        #expect(
            replayed.faults.filter { $0.kind.name.rawValue == "connect" }
                == profile.faults.filter { $0.kind.name.rawValue == "connect" }
        )
    }

    @Test func `re-injects nothing of its kind that the journal doesn't tell`() throws {
        let first = journal(try profile())
        let replayed = ReplayPlan(profile: try profile(), seed: 3, events: []).everything
        #expect(journal(replayed).filter { $0.offset != nil }.isEmpty)
        #expect(journal(replayed).contains { $0.what == "delays" }, "what goes by time comes with the profile")
        #expect(first.contains { $0.offset != nil })
    }

    @Test func `lists what can be left out: each act by itself, and faults by time by their names`() throws {
        let plan = ReplayPlan(profile: try profile(), seed: 3, events: journal(try profile()))
        let names = plan.units.compactMap { unit -> String? in
            if case .fault(let name) = unit { name } else { nil }
        }
        #expect(Set(names) == ["latency", "a/bandwidth"])
        #expect(Set(plan.units).count == plan.units.count)
        let events = plan.units.count - names.count
        #expect(events == journal(try profile()).count { $0.offset != nil })
    }

    @Test func `keeps only what it is told to, and the phases as long as they matter`() throws {
        let plan = ReplayPlan(profile: try profile(), seed: 3, events: journal(try profile()))
        let nothing = plan.profile(keeping: [])
        #expect(nothing.faults.isEmpty && nothing.phases.isEmpty)
        let slow = plan.profile(keeping: [.fault("a/bandwidth")])
        #expect(slow.faults.isEmpty && slow.phases.map(\.name) == ["a", "b"])
        #expect(slow.phases[0].faults.count == 1)
        let event = try #require(
            plan.units.first { unit in
                if case .event(let event) = unit { event.what == "closes" } else { false }
            }
        )
        let one = plan.profile(keeping: [event])
        #expect(journal(one).map(ReplayPlan.Unit.event) == [event])
    }

    @Test func `can be written with names that differ, and read again`() throws {
        let plan = ReplayPlan(profile: try profile(), seed: 3, events: journal(try profile()))
        let written = plan.profile(keeping: plan.units, isNamedApart: true)
        let source = ProfileSource(file: "shrunk.json", text: ProfileWriter.text(of: written))
        let read = try ProfileReader.profile(from: source)
        #expect(read == written)
        #expect(journal(read).map(\.offset) == journal(try profile()).map(\.offset))
    }

    @Test func `passes over lines that its profile can't explain`() throws {
        let events = [
            RecordedFaultEvent(proxy: "p", fault: "unknown", what: "refuses"),
            RecordedFaultEvent(
                proxy: "p",
                connection: 0,
                direction: .upstream,
                fault: "cut",
                offset: 5,
                what: "closes"
            ),
            RecordedFaultEvent(
                proxy: "p",
                connection: 1,
                direction: .upstream,
                fault: "cut",
                offset: -5,
                what: "closes"
            ),
        ]
        let plan = ReplayPlan(profile: try profile(), seed: 3, events: events)
        #expect(plan.units == [.fault("cut")])
        #expect(plan.profile(keeping: plan.units).faults.map(\.name) == ["cut"])
    }

    @Test func `can be read again however long names are, and of whatever they are made`() throws {
        // A letter with an accent that is a scalar of its own.
        let name = String(repeating: "e\u{301}", count: 64)
        let fault = Fault(name: name, stream: .downstream, kind: .cut(Cut(position: .at(ByteCount(5)), how: .reset)))
        let events = (1...2).map { number in
            RecordedFaultEvent(
                proxy: "p",
                connection: number,
                direction: .downstream,
                fault: name,
                offset: 5,
                what: "resets"
            )
        }
        let plan = ReplayPlan(profile: Profile(name: "x", faults: [fault]), seed: 3, events: events)
        let written = plan.profile(keeping: plan.units, isNamedApart: true)
        let source = ProfileSource(file: "shrunk.json", text: ProfileWriter.text(of: written))
        #expect(try ProfileReader.profile(from: source) == written)
    }

    @Test func `flips the bit that was flipped, whatever the fault is called and however it is drawn`() throws {
        let text = """
            { "name": "x", "faults": [ { "kind": "corrupt", "stream": "downstream", "between": ["0 B", "90 KB"] } ] }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let plan = ReplayPlan(profile: profile, seed: 3, events: journal(profile))
        #expect(plan.units.count == 12)
        let first = flips(profile)
        #expect(Set(first.map(\.mask)).count > 1)
        #expect(flips(plan.everything, seed: 99) == first)
        #expect(flips(plan.profile(keeping: plan.units, isNamedApart: true), seed: 99) == first)
    }

    @Test func `puts bytes in where they were put in, whatever had been found there`() throws {
        let pattern = Insert(position: .pattern(BytePattern([0])), bytes: Array("added".utf8))
        let profile = Profile(name: "x", faults: [Fault(name: "ad", kind: .insert(pattern))])
        let event = RecordedFaultEvent(
            proxy: "p",
            connection: 2,
            direction: .upstream,
            fault: "ad",
            offset: 500,
            what: "inserts"
        )
        let replayed = ReplayPlan(profile: profile, seed: 3, events: [event]).everything
        let expected = Fault(
            name: "ad",
            stream: .upstream,
            condition: Condition(connections: .range(2...2)),
            kind: .insert(Insert(position: .at(ByteCount(500)), bytes: pattern.bytes))
        )
        #expect(replayed.faults == [expected])
    }

    /// The keys of faults at a position that may count bytes of the wire.
    private static let countingFaults = [
        #""kind": "cut", "at": "1 KiB""#, #""kind": "cut", "at": ["1 KiB", "2 KiB"]"#,
        #""kind": "cut", "every": "1 KiB""#, #""kind": "cut", "between": ["1 B", "1 KiB"]"#,
        #""kind": "cut", "pattern": "end""#, #""kind": "cut", "limit": "1 KiB""#, #""kind": "cut", "limit": "0 B""#,
        #""kind": "stall", "at": "1 KiB", "for": "2 s""#, #""kind": "truncate", "at": "1 KiB", "bytes": "5 B""#,
        #""kind": "corrupt", "at": "1 KiB""#, #""kind": "corrupt", "between": ["1 B", "1 KiB"]"#,
        #""kind": "insert", "at": "1 KiB", "bytes": "x""#, #""kind": "insert", "pattern": "end", "bytes": "x""#,
    ]

    /// The profile of a search that keeps one event of the fault with these keys.
    private func repeated(_ keys: String) throws -> Profile {
        let text = #"{ "name": "x", "faults": [ { "name": "original", \#(keys) } ] }"#
        let event = RecordedFaultEvent(
            proxy: "p",
            connection: 1,
            direction: .downstream,
            fault: "original",
            offset: 1_000,
            what: "acts"
        )
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        let plan = ReplayPlan(profile: profile, seed: 3, events: [event])
        let result = plan.profile(keeping: plan.units, isNamedApart: true)
        #expect(result.faults.map(\.condition.connections) == [.range(1...1)])
        return result
    }

    @Test(
        arguments: ReplayPlanTests.countingFaults + [
            #""kind": "half-open", "stream": "downstream", "at": "1 KiB""#,
            #""kind": "tls", "alert": "internal_error", "at": "1 KiB""#,
        ]
    )
    func `of any fault at a position is written as a profile that can be read`(keys: String) throws {
        let written = try repeated(keys)
        let source = ProfileSource(file: "shrunk.json", text: ProfileWriter.text(of: written))
        #expect(try ProfileReader.profile(from: source) == written)
    }

    @Test(arguments: ReplayPlanTests.countingFaults)
    func `counts bytes of the wire where the fault did`(keys: String) throws {
        #expect(try repeated(keys + #", "of": "wire""#).faults.map(\.kind.layer) == [.wire])
    }

    private struct Flip: Equatable {
        let connection: UInt64
        let index: Int64
        let mask: UInt8
    }

    /// The bits that are flipped in twelve connections that each bring 100 KB down.
    private func flips(_ profile: Profile, seed: UInt64 = 3) -> [Flip] {
        var admitter = Admitter(Plan(profile: profile, seed: seed, proxy: "p", start: .zero))
        return (0..<12).flatMap { _ -> [Flip] in
            let connection = admitter.accept(at: .zero)
            var link = connection.downstream
            return link.bytesTaken(100_000, now: .zero).compactMap { alteration in
                guard case .flip(let index, let mask) = alteration else { return nil }
                return Flip(connection: connection.ordinal, index: index, mask: mask)
            }
        }
    }

    @Test(arguments: [
        (
            #"{ "kind": "stall", "stream": "downstream", "at": "1 KB", "for": "10 min", "when": { "age": "1 s..4 s" } }"#,
            3
        ),
        (
            #"{ "kind": "stall", "stream": "downstream", "at": "1 KB", "for": "10 min", "when": { "clock": "..9 s" } }"#,
            9
        ),
        (#"{ "kind": "stall", "stream": "downstream", "at": "1 KB", "for": "2 s", "when": { "age": "..4 s" } }"#, 2),
        (#"{ "kind": "stall", "stream": "downstream", "at": "1 KB", "for": "10 min" }"#, 600),
    ])
    func `stalls no longer than the fault can have been on`(fault: String, seconds: Int64) throws {
        let source = ProfileSource(file: "p.json", text: #"{ "name": "x", "faults": [ \#(fault) ] }"#)
        #expect(try stalls(ProfileReader.profile(from: source)) == [.seconds(seconds)])
    }

    @Test(arguments: [(true, 5_500), (false, 5_500)])
    func `stalls no longer than its phase`(repeats: Bool, milliseconds: Int64) throws {
        let text = """
            { "name": "x", "phases": [
                { "name": "a", "for": "5 s", "jitter": "500 ms",
                  "faults": [ { "kind": "stall", "stream": "downstream", "at": "1 KB", "for": "10 min" } ] },
                { "name": "b", "for": "1 s" } ], "repeat": \(repeats) }
            """
        let profile = try ProfileReader.profile(from: ProfileSource(file: "p.json", text: text))
        #expect(try stalls(profile) == [.milliseconds(milliseconds)])
    }

    /// How long the stall of a line of the first connection is in a replay.
    private func stalls(_ profile: Profile) throws -> [Duration] {
        let name = try #require((profile.faults + profile.phases.flatMap(\.faults)).first?.name)
        let event = RecordedFaultEvent(
            proxy: "p",
            connection: 1,
            direction: .downstream,
            fault: name,
            offset: 1_000,
            what: "stalls"
        )
        return ReplayPlan(profile: profile, seed: 3, events: [event]).everything.faults.compactMap { fault in
            if case .stall(let stall) = fault.kind { stall.duration } else { nil }
        }
    }

    @Test func `has the seed of the run, so that what it keeps of the profile is drawn again`() throws {
        let plan = ReplayPlan(profile: try profile(), seed: 77, events: journal(try profile(), seed: 77))
        let written = ProfileWriter.text(of: plan.profile(keeping: plan.units, isNamedApart: true))
        let read = try ProfileReader.profile(from: ProfileSource(file: "shrunk.json", text: written))
        #expect(read.seed == 77)
    }
}
