import FaultProfile
import Testing
import Units

@testable import FaultPlan

@Suite("The scope of a bandwidth")
struct ScopeTests {
    private static let rate: Int64 = 1_000_000

    private func profile(_ scope: Bandwidth.Scope) -> Profile {
        .of([.bandwidth(bytesPerSecond: Self.rate, scope: scope)])
    }

    /// What each connection passes within 5 s, for connections of these clients to one proxy each.
    private func parts(_ admitters: inout [Admitter], clients: [String?]) -> [Int64] {
        var pumps: [Pump] = []
        for index in admitters.indices {
            for client in clients {
                pumps.append(
                    Pump(admitters[index].accept(at: .zero, ConnectionFacts(client: client)).downstream, waiting: nil)
                )
            }
        }
        runTogether(&pumps, until: .seconds(5))
        #expect(pumps.allSatisfy { $0.violations.isEmpty })
        return pumps.map(\.link.delivered)
    }

    private func isNear(_ bytes: Int64, _ promised: Int64) -> Bool { abs(bytes - promised) <= promised / 100 }

    @Test
    func `client gives every client the rate, and its connections share it`() {
        var admitters = [Admitter.of(profile(.client))]
        let parts = parts(&admitters, clients: ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.1", "::1"])
        #expect(isNear(parts[0] + parts[2] + parts[3], 5 * Self.rate))
        #expect(isNear(parts[1], 5 * Self.rate))
        #expect(isNear(parts[4], 5 * Self.rate))
        #expect(admitters[0].plan.asksForClient)
    }

    @Test
    func `client counts all whose address nobody knows as one`() {
        var admitters = [Admitter.of(profile(.client))]
        #expect(isNear(parts(&admitters, clients: [nil, nil, nil]).reduce(0, +), 5 * Self.rate))
    }

    @Test
    func `proxy is one rate for all clients`() {
        var admitters = [Admitter.of(profile(.proxy))]
        #expect(isNear(parts(&admitters, clients: ["a", "b", "c"]).reduce(0, +), 5 * Self.rate))
        #expect(!admitters[0].plan.asksForClient)
    }

    @Test
    func `global is one rate for all proxies that were given it, each direction apart`() {
        let profile = profile(.global)
        let global = GlobalBuckets(profile, start: .zero)
        var admitters = ["a", "b", "c"].map {
            Admitter(Plan(profile: profile, seed: 1, proxy: $0, start: .zero, global: global))
        }
        #expect(isNear(parts(&admitters, clients: ["x", "y"]).reduce(0, +), 5 * Self.rate))
        var upstream = Pump(admitters[0].accept(at: .zero).upstream, waiting: nil)
        upstream.run(until: .seconds(1))
        #expect(isNear(upstream.link.delivered, Self.rate))
    }

    @Test
    func `global is the proxy's own where nobody shares it`() {
        var admitters = [Admitter.of(profile(.global)), .of(profile(.global))]
        let parts = parts(&admitters, clients: ["x"])
        #expect(parts.allSatisfy { isNear($0, 5 * Self.rate) })
        // Nor is one taken that belongs to a fault of another name.
        let other = GlobalBuckets(.of([.bandwidth(bytesPerSecond: 1, scope: .global, name: "other")]), start: .zero)
        var admitter = Admitter(Plan(profile: profile(.global), seed: 1, proxy: "a", start: .zero, global: other))
        var pump = Pump(admitter.accept(at: .zero).upstream, waiting: nil)
        pump.run(until: .seconds(1))
        #expect(isNear(pump.link.delivered, Self.rate))
    }

    @Test
    func `global of a phase is shared as well`() {
        let fault = Fault.bandwidth(bytesPerSecond: Self.rate, scope: .global, name: "slow")
        let profile = Profile.of([], phases: [.lasting(nil, fault)])
        let global = GlobalBuckets(profile, start: .zero)
        var admitters = ["a", "b"].map {
            Admitter(Plan(profile: profile, seed: 1, proxy: $0, start: .zero, global: global))
        }
        #expect(isNear(parts(&admitters, clients: ["x"]).reduce(0, +), 5 * Self.rate))
    }

    @Test
    func `client remembers so many clients, forgets idle ones first, and lets the others share`() {
        let bandwidth = Bandwidth(rate: .bytesPerSecond(Self.rate), scope: .client)
        var buckets = ClientBuckets()
        func pair(_ client: Int) -> BucketPair {
            buckets.pair(of: "\(client)", fault: 0) { BucketPair(bandwidth, start: .zero) }
        }
        var held: [SharedBucket] = []
        for client in 0..<ClientBuckets.limit { held.append(pair(client)[.upstream]) }
        #expect(buckets.count == ClientBuckets.limit)
        #expect(pair(7)[.upstream] === held[7])
        // All of them have a connection: those that come now share a rate, and take none from the others.
        #expect(pair(1_000_000)[.upstream] === pair(1_000_001)[.upstream])
        #expect(buckets.count == ClientBuckets.limit)
        #expect(pair(7)[.upstream] === held[7])
        held.removeFirst(96)
        for client in 2_000_000..<2_000_300 { _ = pair(client) }
        #expect(buckets.count <= ClientBuckets.limit)
        #expect(pair(2_000_298)[.upstream] !== pair(2_000_299)[.upstream])
        #expect(pair(96)[.upstream] === held[0])
    }

    @Test
    func `of a link that has gone doesn't keep its client`() {
        var admitter = Admitter.of(profile(.client))
        for client in 0..<ClientBuckets.limit + 1_000 {
            var connection = admitter.accept(at: .zero, ConnectionFacts(client: "\(client)"))
            connection.upstream.close()
            connection.downstream.close()
        }
        // The last ones have rates of their own again.
        var admitters = [admitter]
        let parts = parts(&admitters, clients: ["x", "y"])
        #expect(parts.allSatisfy { isNear($0, 5 * Self.rate) })
    }
}
