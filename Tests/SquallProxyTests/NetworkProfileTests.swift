import Foundation
import SquallProxy
import TestStreams
import Testing

/// The ways to say what a network does.
@Suite struct NetworkProfileTests {
    /// The error of a profile that can't be read.
    private func failure(of profile: NetworkProfile) -> FaultProxyError? {
        #expect(throws: FaultProxyError.self) { try profile.check() }
    }

    @Test func `every problem of a text is told with its line and column`() throws {
        let text = """
            { "name": "x",
              "faults": [ { "kind": "latency", "delay": "20" },
                          { "kind": "cut", "at": "-1 B" } ] }
            """
        let error = try #require(failure(of: .json(text, file: "Module/Tests.swift", line: 12)))
        #expect(error.code == .invalidProfile)
        #expect(error.problems.map(\.line) == [2, 3])
        #expect(error.problems.first?.column == 45)
        #expect(error.message.hasPrefix("profile of Tests.swift line 12:2:45: "), "\(error)")
        #expect(error.message.split(separator: "\n").count == 2)
    }

    @Test func `a text may extend a shipped profile`() throws {
        try NetworkProfile.json(#"{ "name": "x", "extends": "slow-3g" }"#).check()
        try NetworkProfile.json(#"{ "name": "x", "extends": "cell-edge" }"#).check()
        let error = try #require(failure(of: .json(#"{ "name": "x", "extends": "slow-3h" }"#)))
        #expect(error.message.contains("did you mean “slow-3g”?"), "\(error)")
    }

    @Test func `a file is read with what it names, and one that can't be read says why`() throws {
        let folder = try Folder()
        let text = #"{ "name": "x", "faults": [ { "kind": "trace", "file": "link.trace" } ] }"#
        try folder.write(text, to: "x.json")
        let profile = NetworkProfile.profile(folder.file("x.json"))
        let missing = try #require(failure(of: profile))
        #expect(missing.message.contains("link.trace”: No such file or directory (errno 2)"), "\(missing)")
        #expect(missing.problems.first?.line == 1)
        try folder.write("1\n5\n10\n", to: "link.trace")
        try profile.check()
        let none = try #require(failure(of: .profile("./none.json")))
        #expect(none.message.hasPrefix("./none.json:1:1: can't read the profile “./none.json”: "), "\(none)")
        let other = try #require(failure(of: .profile(folder.path + "/")))
        #expect(other.message.contains("it is no regular file (name a regular file)"), "\(other)")
    }

    @Test func `faults made in Swift are those of a profile, and are checked like them`() throws {
        let faults: [NetworkFault] = [
            .latency(.milliseconds(80), jitter: .milliseconds(20)),
            .bandwidth(bytesPerSecond: 1_000_000, shared: true).on(.downstream),
            .cut(at: 0, by: .close).connections(1...2),
            .cut(every: 300_000).named("often"),
            .cut(after: .seconds(2), by: .silence),
            .stall(at: 1_000, for: .microseconds(1_500)).on(.upstream).chance(percent: 12.5),
            .loss(percent: 2, burst: 3, roundTrip: .milliseconds(40)),
            .outage(.refuse),
            .json(#"{ "kind": "slow-close", "by": "1 s" }"#),
        ]
        try NetworkProfile.faults(faults).check()
        try NetworkProfile.clear.check()
        let wrong: [NetworkFault] = [
            .latency(.milliseconds(-1)), .bandwidth(bytesPerSecond: 0), .cut(at: -5), .stall(at: 0, for: .zero),
            .loss(percent: 100, roundTrip: .seconds(1)), .outage(.refuse).on(.upstream),
            .json("{ \"kind\": \"late\" }"),
            .latency(.seconds(1)).chance(percent: 101), .cut(every: 0),
        ]
        for fault in wrong {
            let error = failure(of: .faults([fault]))
            #expect(error?.problems.isEmpty == false, "\(fault)")
        }
    }

    @Test(arguments: [
        (NetworkProfile.faults([.latency(.zero), .cut(at: -5), .json("{\n}")]), ["fault 2, cut: ", "fault 3:1:1: "]),
        (
            .phases(
                [NetworkPhase("a", for: .zero), NetworkPhase("b", [.json("{}"), .slice(bytes: 0)])],
                always: [.cut(every: 0)]
            ),
            ["fault 1, cut: ", "phase “a”: ", "phase “b”, fault 1:1:1: ", "phase “b”, fault 2, slice: "]
        ),
        (.faults([.json(#"{"kind":"discard"}, {"kind":"discard"}"#)]), ["fault 1:1:19: more follows the fault (give "]),
        (.faults([.discard(), .json("{")]), ["fault 2:1:1: "]),
        (.faults([.trace(file: "none.trace")]), ["fault 1, trace: "]),
    ])
    func `a problem of a fault made in Swift names the fault`(profile: NetworkProfile, places: [String]) throws {
        let error = try #require(failure(of: profile))
        let lines = error.message.split(separator: "\n")
        #expect(lines.count == places.count && zip(lines, places).allSatisfy { $0.hasPrefix($1) }, "\(error)")
        #expect(error.problems.map(\.description) == lines.map(String.init))
    }

    @Test func `every kind of fault and phases are made in Swift`() throws {
        let faults: [NetworkFault] = [
            .latency(.milliseconds(1)), .bandwidth(bytesPerSecond: 1_000), .cut(at: 1), .stall(at: 0, for: .seconds(1)),
            .loss(percent: 1, roundTrip: .milliseconds(40)), .outage(.silence), .corrupt(at: 3),
            .corrupt(percent: 0.000_01),
            .truncate(at: 5, bytes: 2), .insert([0, 255], at: 9), .slice(bytes: 512, pause: .milliseconds(1)),
            .slowReader(bytesPerSecond: 10_000), .answer(503, fields: [("Retry-After", "2")], body: "later\n"),
            .dropInterim(),
            .connect(delayedBy: .seconds(1)), .connect(.hang), .connectionLimit(3, isSilent: true),
            .slowClose(by: .seconds(1)), .halfOpen(at: 7).on(.downstream), .discard(closingAfter: .seconds(2)),
            .discard().hosts(["*.example.com"]), .connect(.refuse).connections(4...4),
        ]
        try NetworkProfile.faults(faults).check()
        try NetworkProfile.phases(
            [NetworkPhase("near", for: .seconds(2)), NetworkPhase("gone", for: .seconds(1), [.outage(.refuse)])],
            always: [.latency(.milliseconds(5))],
            repeats: true
        ).check()
        // A file that isn't there is a problem of the file, not of the kind.
        #expect(failure(of: .faults([.trace(file: "none.trace")]))?.message.contains("none.trace") == true)
        #expect(failure(of: .phases([NetworkPhase("a"), NetworkPhase("b")]))?.problems.isEmpty == false)
    }

    @Test func `what is added to a fault of JSON counts, and what it has already is a problem`() throws {
        let cut = NetworkFault.json(#"{ "kind": "cut", "at": "8 B" }"#)
        let added = cut.on(.downstream).named("x").connections(2...3)
        try NetworkProfile.faults([added]).check()
        let twice = NetworkFault.json(#"{ "kind": "cut", "at": "8 B", "stream": "upstream" }"#).on(.downstream)
        #expect(failure(of: .faults([twice]))?.problems.isEmpty == false)
        #expect(failure(of: .faults([NetworkFault.json("{}").on(.upstream)]))?.problems.isEmpty == false)
    }
}
