import FaultPlan
import FaultProfile
import SimulatedLink
import Testing
import Units

/// Promises that hold for every profile and every arrival: checked on random ones, drawn from a seed
/// that the failure names.
@Suite("Every link")
struct PropertyTests {
    private static let seeds = 0..<60 as Range<UInt64>

    @Test
    func `keeps its promises at every step, spins nowhere and loses no byte`() {
        var drawn: Set<FaultKind.Name> = []
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed)
            let profile = random.profile(.lossless)
            let holdLimit = ByteCount(random.pick([100, 2_000, 20_000, 8 << 20]))
            var pump = pump(of: profile, seed: seed, holdLimit: holdLimit, &random)
            let total = feed(&pump, &random)
            pump.sinkSize = .max
            pump.run(until: .seconds(1_000_000))
            #expect(pump.violations.isEmpty, "seed \(seed)")
            #expect(pump.ended == .finish, "seed \(seed)")
            #expect(pump.link.delivered == total + pump.added, "seed \(seed)")
            #expect(pump.decisions < 50_000 + 5 * total, "seed \(seed)")
            drawn.formUnion(random.drawn)
        }
        #expect(drawn == RandomProfile.kinds(.lossless))
    }

    @Test
    func `of whatever kinds of faults keeps its promises at every step, and spins nowhere`() {
        var drawn: Set<FaultKind.Name> = []
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed &+ 500)
            let profile = random.profile(.everything)
            var pump = pump(of: profile, seed: seed, holdLimit: Link.defaultHoldLimit, &random)
            let total = feed(&pump, &random)
            pump.sinkSize = .max
            // Some of them hold a link for ever, which has phases meanwhile.
            pump.run(until: pump.now + .seconds(100))
            #expect(pump.violations.isEmpty, "seed \(seed)")
            #expect(pump.link.delivered <= total + pump.added, "seed \(seed)")
            #expect(pump.decisions < 50_000 + 5 * total, "seed \(seed)")
            drawn.formUnion(random.drawn)
        }
        #expect(drawn == Set(FaultKind.Name.allCases))
    }

    @Test
    func `with cuts delivers exactly up to the cut that acts, or everything`() {
        var drawn: Set<FaultKind.Name> = []
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed)
            let profile = random.profile(.cuts)
            var pump = pump(of: profile, seed: seed, holdLimit: Link.defaultHoldLimit, &random)
            let total = feed(&pump, &random)
            pump.sinkSize = .max
            pump.run(until: .seconds(1_000_000))
            #expect(pump.violations.isEmpty, "seed \(seed)")
            let ended = pump.events.last.flatMap { event -> (offset: Int64?, how: Ending)? in
                if case .cuts(let how) = event.effect { (event.offset, .cut(how)) } else { nil }
            }
            #expect(pump.link.delivered == ended?.offset ?? (total + pump.added), "seed \(seed)")
            #expect(pump.ended == ended?.how ?? .finish, "seed \(seed)")
            drawn.formUnion(random.drawn)
        }
        #expect(drawn == RandomProfile.kinds(.cuts))
    }

    @Test
    func `is the same whatever the read size`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed)
            let profile = random.profile(.cuts)
            var arrivals: [LinkSimulation.Arrival] = []
            var moment: Int64 = 0
            for _ in 0..<random.pick([1, 5, 20]) {
                moment += random.pick([0, 1, 1_000_000, 300_000_000])
                let bytes: Int64 = random.pick([1, 100, 3_000, 40_000])
                arrivals.append(.init(at: Moment(nanoseconds: moment), bytes: bytes))
            }
            arrivals[arrivals.count - 1].end = .finish
            let whole = simulation(of: profile, seed: seed, arrivals, readSize: 1 << 20)
            for readSize in [97, 1_460] as [Int64] {
                let parts = simulation(of: profile, seed: seed, arrivals, readSize: readSize)
                #expect(
                    parts.events.filter { $0.offset != nil } == whole.events.filter { $0.offset != nil },
                    "seed \(seed)"
                )
                #expect(Set(parts.events) == Set(whole.events), "seed \(seed)")
                #expect(parts.lastOfEachMoment == whole.lastOfEachMoment, "seed \(seed)")
            }
        }
    }

    private func simulation(
        of profile: Profile,
        seed: UInt64,
        _ arrivals: [LinkSimulation.Arrival],
        readSize: Int64
    ) -> LinkSimulation {
        var admitter = Admitter.of(profile, seed: seed)
        var simulation = LinkSimulation(admitter.accept(at: .zero).downstream, arrivals: arrivals, readSize: readSize)
        simulation.run(until: .seconds(100_000))
        return simulation
    }

    private func pump(of profile: Profile, seed: UInt64, holdLimit: ByteCount, _ random: inout RandomProfile) -> Pump {
        var admitter = Admitter.of(profile, seed: seed, holdLimit: holdLimit)
        let connection = admitter.accept(at: .zero)
        let link = random.chance(0.5) ? connection.upstream : connection.downstream
        var pump = Pump(link, waiting: 0, holdLimit: holdLimit)
        pump.readSize = random.pick([1_000, 16_384, .max])
        return pump
    }

    /// Lets bytes come at odd moments, wake-ups be late and the sink be slow; returns how many came.
    private func feed(_ pump: inout Pump, _ random: inout RandomProfile) -> Int64 {
        var total: Int64 = 0
        var deadline: Int64 = 0
        for _ in 0..<random.pick([1, 4, 12]) {
            let bytes: Int64 = random.pick([0, 1, 10, 1_460, 5_000, 20_000])
            total += bytes
            pump.waiting = (pump.waiting ?? 0) + bytes
            pump.sinkSize = random.pick([0, 1_000, .max, .max])
            deadline += random.pick([0, 1, 999_999, 50_000_000, 2_000_000_000])
            pump.run(until: Moment(nanoseconds: deadline), lateness: random.pick([0, 0, 1, 3_000_000]))
        }
        pump.end = .finish
        return total
    }
}
