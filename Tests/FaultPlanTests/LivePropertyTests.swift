import FaultPlan
import FaultProfile
import Testing
import Units

/// Promises that hold for every link, however often its plan changes: checked on random ones, drawn from a seed that the
/// failure names.
@Suite("Every live link")
struct LivePropertyTests {
    private static let seeds = 0..<80 as Range<UInt64>

    @Test
    func `loses no byte by random changes, and holds none once all faults are gone`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed)
            let holdLimit = ByteCount(random.pick([100, 2_000, 20_000, 8 << 20]))
            var live = live(seed, &random, kinds: .lossless, holdLimit: holdLimit)
            let total = change(&live, &random, kinds: .lossless)
            live.pump.end = .finish
            live.pump.sinkSize = .max
            live.apply(.of([]))
            live.pump.run(until: live.pump.now)
            #expect(live.pump.violations.isEmpty, "seed \(seed)")
            #expect(live.pump.link.delivered == total + live.pump.added, "seed \(seed)")
            #expect(live.pump.ended == .finish, "seed \(seed)")
        }
    }

    @Test
    func `comes to its end by itself with whatever faults it was left`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed &+ 1_000)
            var live = live(seed, &random, kinds: .lossless)
            let total = change(&live, &random, kinds: .lossless)
            live.pump.end = .finish
            live.pump.sinkSize = .max
            live.pump.run(until: .seconds(1_000_000))
            #expect(live.pump.violations.isEmpty, "seed \(seed)")
            #expect(live.pump.ended == .finish, "seed \(seed)")
            #expect(live.pump.link.delivered == total + live.pump.added, "seed \(seed)")
        }
    }

    @Test
    func `is cut exactly where a cut acts, or not at all`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed &+ 2_000)
            var live = live(seed, &random, kinds: .cuts)
            let total = change(&live, &random, kinds: .cuts)
            live.pump.end = .finish
            live.pump.sinkSize = .max
            live.pump.run(until: .seconds(1_000_000))
            #expect(live.pump.violations.isEmpty, "seed \(seed)")
            let ended = live.pump.events.last.flatMap { event -> (offset: Int64?, how: Ending)? in
                if case .cuts(let how) = event.effect { (event.offset, .cut(how)) } else { nil }
            }
            #expect(live.pump.link.delivered == ended?.offset ?? (total + live.pump.added), "seed \(seed)")
            #expect(live.pump.ended == ended?.how ?? .finish, "seed \(seed)")
        }
    }

    @Test
    func `acts as if nothing had happened where its own faults don't change`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed &+ 3_000)
            let profile = random.profile(.cuts)
            let isUpstream = random.chance(0.5)
            // The first of the two goes on as it is.
            var pumps = (0..<2).map { _ in LivePump(profile, seed: seed, upstream: isUpstream) }
            var deadline: Int64 = 0
            for round in 0..<12 {
                let bytes: Int64 = random.pick([0, 1, 1_460, 5_000, 20_000])
                let sinkSize: Int64 = random.pick([0, 1_000, .max])
                deadline += random.pick([0, 999_999, 50_000_000])
                for index in pumps.indices {
                    pumps[index].pump.waiting? += bytes
                    pumps[index].pump.sinkSize = sinkSize
                    pumps[index].pump.run(until: Moment(nanoseconds: deadline))
                }
                let (still, live) = (pumps[0].pump, pumps[1].pump)
                #expect(still.link.delivered == live.link.delivered, "seed \(seed), round \(round)")
                #expect(still.link.arrived == live.link.arrived, "seed \(seed), round \(round)")
                #expect(still.events.map(\.effect) == live.events.map(\.effect), "seed \(seed), round \(round)")
                // Faults that come and go beside them, and never act: they are for other connections, or later ages.
                var changed = profile
                if random.chance(0.7) {
                    var fault = Fault.latency(.seconds(1), name: "never \(round)")
                    fault.condition = Condition(connections: .range(2...9))
                    changed.faults.insert(fault, at: 0)
                }
                pumps[1].apply(changed)
            }
        }
    }

    private func live(
        _ seed: UInt64,
        _ random: inout RandomProfile,
        kinds: RandomProfile.Kinds,
        holdLimit: ByteCount = Link.defaultHoldLimit
    ) -> LivePump {
        let profile = random.profile(kinds)
        var live = LivePump(profile, seed: seed, upstream: random.chance(0.5), holdLimit: holdLimit)
        live.pump.readSize = random.pick([1_000, 16_384, .max])
        return live
    }

    /// Lets bytes come and plans change at odd moments; returns how many came.
    private func change(_ live: inout LivePump, _ random: inout RandomProfile, kinds: RandomProfile.Kinds) -> Int64 {
        var total: Int64 = 0
        var deadline: Int64 = 0
        for _ in 0..<random.pick([3, 8, 20]) {
            let bytes: Int64 = random.pick([0, 1, 10, 1_460, 5_000, 20_000])
            total += bytes
            live.pump.waiting? += bytes
            live.pump.sinkSize = random.pick([0, 1_000, .max, .max])
            deadline += random.pick([0, 1, 999_999, 50_000_000, 2_000_000_000])
            live.pump.run(until: Moment(nanoseconds: deadline), lateness: random.pick([0, 0, 1, 3_000_000]))
            var next = random.profile(kinds)
            // Some faults go on, some of them in another order, or with other times.
            next.faults =
                live.admitter.plan.profile.faults.filter { _ in random.chance(0.5) }
                + next.faults.filter { fault in
                    !live.admitter.plan.profile.faults.contains { $0.name == fault.name }
                }
            if random.chance(0.5) { next.phases = live.admitter.plan.profile.phases }
            if random.chance(0.3) { next.faults.reverse() }
            live.apply(next)
        }
        return total
    }
}
