import ChaosStage
import FaultPlan
import Testing
import Units

@testable import FaultProfile

/// Which phases a run met, which faults never acted, and which came closest.
struct CoverageTests {
    private static func fault(_ name: String, _ kind: FaultKind, _ condition: Condition = Condition()) -> Fault {
        Fault(name: name, stream: .downstream, condition: condition, kind: kind)
    }

    private static let outage = FaultKind.outage(Outage(how: .silence))

    /// 4 s, 80 ms, 4 s, 1.5 s and 4 s; the second and the fourth have an outage.
    private static let roam = Profile(
        name: "roam",
        phases: [
            Phase(name: "first", duration: .seconds(4)),
            Phase(name: "quick", duration: .milliseconds(80), faults: [fault("quick/outage", outage)]),
            Phase(name: "second", duration: .seconds(4)),
            Phase(
                name: "slow",
                duration: .milliseconds(1_500),
                faults: [fault("slow/outage", outage), fault("slow/cut", cut(at: 1))]
            ),
            Phase(name: "third", duration: .seconds(4)),
        ],
        repeats: true
    )

    private static func cut(at offset: Int64) -> FaultKind { .cut(Cut(position: .at(ByteCount(offset)), how: .reset)) }

    private func coverage(_ time: Duration, _ acted: Set<String>) -> Coverage {
        Coverage(of: Self.roam, seed: 1, proxy: "app", time: time, acted: acted)
    }

    @Test func `a phase without faults is met by lasting, one with faults only by a fault that acts`() {
        #expect(coverage(.milliseconds(20), []).text == "met 1 of 5 phases; never: quick, slow")
        #expect(coverage(.seconds(9), ["quick/outage"]).text == "met 3 of 5 phases; never: slow")
        #expect(coverage(.seconds(9), ["quick/outage"]).missed.map(\.name) == ["slow", "third"])
        #expect(coverage(.seconds(20), []).text == "met 3 of 5 phases; never: quick, slow")
        #expect(coverage(.seconds(20), ["quick/outage", "slow/cut"]).text == "met 5 of 5 phases; never: slow/outage")
        #expect(coverage(.seconds(20), ["quick/outage", "slow/cut", "slow/outage"]).text == "met 5 of 5 phases")
    }

    @Test func `a phase begins when the one before has ended, and not a moment sooner`() {
        #expect(coverage(.milliseconds(4_080), []).missed.map(\.name).contains("second"))
        #expect(!coverage(.milliseconds(4_081), []).missed.map(\.name).contains("second"))
    }

    @Test func `a profile without phases has only its faults, and nothing if all acted`() {
        let profile = Profile(name: "cuts", faults: (1...12).map { Self.fault("cut-\($0)", Self.cut(at: 9)) })
        func text(_ acted: Set<String>) -> String? {
            Coverage(of: profile, seed: 1, proxy: "app", time: .seconds(1), acted: acted).text
        }
        let names = Set(profile.faults.map(\.name))
        #expect(text(names) == nil)
        #expect(text(names.subtracting(["cut-3"])) == "never: cut-3")
        #expect(text([]) == "never: cut-1, cut-2, cut-3, cut-4, cut-5, cut-6, cut-7, cut-8 and 4 more")
    }

    // MARK: The nearest miss

    private func emptiness(
        _ profile: Profile,
        time: Duration = .milliseconds(20),
        _ change: (inout Measurements.Proxy) -> Void = { _ in }
    ) throws -> String? {
        var figures = Measurements.Proxy(name: "app")
        (figures.connections, figures.downstream) = (1, 40_300)
        change(&figures)
        let scenario = Scenario(
            name: "stage",
            proxies: [Scenario.Proxy(name: "app", upstream: "127.0.0.1:9")],
            profiles: [StageProfile(reference: nil, profile: profile)],
            seeds: try SeedList(parsing: "1"),
            command: ["true"],
            expectations: []
        )
        let measurements = Measurements(exit: 0, time: time, proxies: [figures])
        return scenario.emptiness(measurements, of: scenario.cases[0], time: time)?.reason
    }

    private static let nothing = "no fault of the profile acted, so the run shows nothing"

    @Test func `the miss with the largest share of its bound is named`() throws {
        let near = Self.fault("near", Self.cut(at: 65_536))
        let far = Self.fault("far", Self.cut(at: 1_048_576))
        let second = Self.fault("again", Self.cut(at: 1), Condition(connections: .range(2...3)))
        let profile = Profile(name: "x", faults: [far, near, second])
        #expect(try emptiness(profile) == "\(Self.nothing): near acts at 64.0 KiB, the run moved 39.3 KiB")
        #expect(
            try emptiness(profile) { $0.downstream = 10 }
                == "\(Self.nothing): again acts on connection 2, the run made 1 connection"
        )
    }

    @Test func `a phase that the run was too short for is named with its begin`() throws {
        #expect(try emptiness(Self.roam) == "\(Self.nothing): quick begins at 4.0 s, the run took 20 ms")
    }

    @Test func `an age that no connection reached is named`() throws {
        let old = Self.fault("old", .cut(Cut(position: .after(.seconds(5)), how: .close)))
        #expect(
            try emptiness(Profile(name: "x", faults: [old]))
                == "\(Self.nothing): old acts on connections of 5 s, the run took 20 ms"
        )
    }

    @Test func `a stream that isn't HTTP comes before every other miss`() throws {
        let answer = Self.fault("answer", .http(.answer(HTTPAnswer(status: 503))))
        let profile = Profile(name: "x", faults: [answer, Self.fault("near", Self.cut(at: 65_536))])
        #expect(
            try emptiness(profile) { $0.unreadStreams = [.http2] }
                == "\(Self.nothing): the stream is HTTP/2, so faults of HTTP messages can't act on it"
        )
        #expect(try emptiness(Profile(name: "x", faults: [answer])) == Self.nothing)
    }

    @Test func `a run whose faults acted shows something, unless no connection reached a server`() throws {
        let profile = Profile(name: "x", faults: [Self.fault("near", Self.cut(at: 65_536))])
        #expect(try emptiness(profile) { $0.faults = ["cut": 1] } == nil)
        let refused = try emptiness(profile) { $0.clientFailure = "the client rejects the certificate" }
        #expect(refused == "\(Self.nothing): the proxy “app”: the client rejects the certificate")
        let dead = try emptiness(profile) { ($0.faults, $0.upstreamFailure) = (["cut": 1], "127.0.0.1:9: refused") }
        #expect(
            dead == "no connection reached a server, so the run shows nothing: "
                + "the proxy “app” can't reach its upstream 127.0.0.1:9: refused"
        )
        #expect(try emptiness(profile) { $0.connections = 0 }?.hasPrefix("no connection came") == true)
    }
}
