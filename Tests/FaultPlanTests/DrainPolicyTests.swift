import FaultPlan
import Testing
import Units

@Suite("The drain policy")
struct DrainPolicyTests {
    typealias View = DrainPolicy.View
    typealias End = DrainPolicy.End

    /// The seconds after which a connection in a state is released, if its ends stay as they are; "-" is never.
    private func time(_ situation: DrainPolicy.Situation, _ client: End, _ server: End) -> String {
        let view = View(situation, client: client, server: server)
        var policy = DrainPolicy(DrainLimits(), beginning: .zero)
        switch policy.verdict(on: view, at: .zero) {
        case .release:
            return "0"
        case .keep(until: .distantFuture):
            return "-"
        case .keep(let until):
            #expect(policy.verdict(on: view, at: until.advanced(byNanoseconds: -1)) == .keep(until: until))
            #expect(policy.verdict(on: view, at: until) == .release)
            return "\(until.nanoseconds / 1_000_000_000)"
        }
    }

    /// Of a client that is open, has ended its stream, or is gone, with a server that is the same in turn.
    @Test(
        arguments: [
            (.passing, "- - - | - - - | 60 60 0"),
            (.held, "86400 86400 86400 | 86400 86400 86400 | 60 60 0"),
            (.unread, "- - - | - - - | 900 900 0"),
            (.blackholed, "- - - | - - - | 900 900 0"),
            (.severed, "86400 900 900 | 900 0 0 | 900 0 0"),
        ] as [(DrainPolicy.Situation, String)]
    )
    func `has a time for each state and each pair of ends`(situation: DrainPolicy.Situation, expected: String) {
        let ends: [End] = [.open, .ended, .gone]
        let rows = ends.map { client in ends.map { time(situation, client, $0) }.joined(separator: " ") }
        #expect(rows.joined(separator: " | ") == expected)
    }

    @Test
    func `releases a connection without a server as soon as its client is gone`() {
        let times = [End.open, .ended, .gone].map { time(.unconnected, $0, .absent) }
        #expect(times == ["86400", "86400", "0"])
        #expect([End.open, .ended, .gone].map { time(.severed, $0, .absent) } == ["86400", "900", "0"])
    }

    @Test(arguments: DrainPolicy.Situation.allCases)
    func `keeps no connection of which both ends are gone`(situation: DrainPolicy.Situation) {
        #expect(time(situation, .gone, .gone) == "0")
    }

    @Test
    func `counts from the last byte that passed behind the end of the first stream`() {
        var policy = DrainPolicy(DrainLimits(), beginning: .zero)
        let uploading = View(.passing, client: .ended, server: .open, passed: 5)
        #expect(policy.verdict(on: uploading, at: .seconds(10)) == .keep(until: .distantFuture))
        let gone = View(.passing, client: .gone, server: .open, passed: 5)
        #expect(policy.verdict(on: gone, at: .seconds(30)) == .keep(until: .seconds(70)))
        let passing = View(.passing, client: .gone, server: .open, passed: 6)
        #expect(policy.verdict(on: passing, at: .seconds(60)) == .keep(until: .seconds(120)))
        #expect(policy.verdict(on: passing, at: .seconds(119)) == .keep(until: .seconds(120)))
        #expect(policy.verdict(on: passing, at: .seconds(120)) == .release)
    }

    @Test
    func `releases a client at once that turns out to be gone after it was quiet for the time`() {
        var policy = DrainPolicy(DrainLimits(), beginning: .zero)
        let ended = View(.passing, client: .ended, server: .open)
        #expect(policy.verdict(on: ended, at: .zero) == .keep(until: .distantFuture))
        let gone = View(.passing, client: .gone, server: .open)
        #expect(policy.verdict(on: gone, at: .seconds(75)) == .release)
    }

    @Test
    func `has the ends probed that may be gone, but no server whose client may still receive`() {
        let policy = DrainPolicy(DrainLimits(), beginning: .zero)
        func probed(_ situation: DrainPolicy.Situation, _ client: End, _ server: End, at now: Moment = .zero) -> String
        {
            let probes = policy.probes(of: View(situation, client: client, server: server), at: now)
            return (probes.client ? "c" : "") + (probes.server ? "s" : "")
        }
        #expect(probed(.unconnected, .ended, .absent) == "c")
        for situation in [DrainPolicy.Situation.passing, .blackholed] {
            #expect(probed(situation, .open, .open) == "")
            #expect(probed(situation, .open, .ended) == "")
            #expect(probed(situation, .ended, .open) == "c")
            #expect(probed(situation, .ended, .ended) == "cs")
            #expect(probed(situation, .gone, .ended) == "s")
        }
        // A reset would take from the server what it hasn't taken yet.
        #expect(probed(.unread, .ended, .open, at: .seconds(899)) == "")
        #expect(probed(.unread, .ended, .open, at: .seconds(900)) == "c")
        #expect(probed(.severed, .ended, .open) == "")
    }

    /// Of a client that has ended its stream, and one that is gone, both 9 s and 10 s ago.
    @Test(
        arguments: [
            (.unconnected, "1 1 0 0"), (.passing, "- 2 - 0"), (.unread, "- - - 0"), (.blackholed, "1 1 0 0"),
            (.severed, "1 1 0 0"),
        ] as [(DrainPolicy.Situation, String)]
    )
    func `ranks connections for a shortage, and never one whose client is there`(
        situation: DrainPolicy.Situation,
        expected: String
    ) {
        let server = situation == .unconnected ? End.absent : .open
        let ranks = [End.ended, .gone].flatMap { client in
            let view = View(situation, client: client, server: server)
            var policy = DrainPolicy(DrainLimits(), beginning: .zero)
            _ = policy.verdict(on: view, at: .zero)
            return [9, 10].map { policy.shortageRank(of: view, at: .seconds($0)).map { "\($0)" } ?? "-" }
        }
        #expect(ranks.joined(separator: " ") == expected)
        for server in End.allCases {
            let view = View(situation, client: .open, server: server)
            #expect(DrainPolicy(DrainLimits(), beginning: .zero).shortageRank(of: view, at: .seconds(1_000)) == nil)
        }
    }

    @Test
    func `doesn't release a connection that passes bytes, however short descriptors are`() {
        var policy = DrainPolicy(DrainLimits(), beginning: .zero)
        _ = policy.verdict(on: View(.passing, client: .gone, server: .open, passed: 1), at: .zero)
        let view = View(.passing, client: .gone, server: .open, passed: 2)
        #expect(policy.shortageRank(of: view, at: .seconds(50)) == nil)
    }
}
