import FaultPlan
import FaultProfile
import Testing
import Units

/// Promises that hold for every profile and every arrival: checked on random ones, drawn from a seed
/// that the failure names.
@Suite("Every link")
struct PropertyTests {
    private static let seeds = 0..<60 as Range<UInt64>

    @Test
    func `keeps its promises at every step, spins nowhere and loses no byte`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed)
            let profile = random.profile(cuts: false)
            let holdLimit = ByteCount(random.pick([100, 2_000, 20_000, 8 << 20]))
            var pump = pump(of: profile, seed: seed, holdLimit: holdLimit, &random)
            let total = feed(&pump, &random)
            pump.sinkSize = .max
            pump.run(until: .seconds(1_000_000))
            #expect(pump.violations.isEmpty, "seed \(seed)")
            #expect(pump.ended == .finish, "seed \(seed)")
            #expect(pump.link.delivered == total, "seed \(seed)")
            #expect(pump.decisions < 50_000 + 5 * total, "seed \(seed)")
        }
    }

    @Test
    func `with cuts delivers exactly up to the cut that acts, or everything`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed)
            let profile = random.profile(cuts: true)
            var pump = pump(of: profile, seed: seed, holdLimit: Link.defaultHoldLimit, &random)
            let total = feed(&pump, &random)
            pump.sinkSize = .max
            pump.run(until: .seconds(1_000_000))
            #expect(pump.violations.isEmpty, "seed \(seed)")
            let ended = pump.events.last.flatMap { event -> (offset: Int64?, how: Ending)? in
                if case .cuts(let how) = event.effect { (event.offset, .cut(how)) } else { nil }
            }
            #expect(pump.link.delivered == ended?.offset ?? total, "seed \(seed)")
            #expect(pump.ended == ended?.how ?? .finish, "seed \(seed)")
        }
    }

    @Test
    func `is the same whatever the read size`() {
        for seed in Self.seeds {
            var random = RandomProfile(seed: seed)
            let profile = random.profile(cuts: true)
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
        var plan = Plan.of(profile, seed: seed)
        var simulation = LinkSimulation(plan.accept(at: .zero).downstream, arrivals: arrivals, readSize: readSize)
        simulation.run(until: .seconds(100_000))
        return simulation
    }

    private func pump(of profile: Profile, seed: UInt64, holdLimit: ByteCount, _ random: inout RandomProfile) -> Pump {
        var plan = Plan.of(profile, seed: seed, holdLimit: holdLimit)
        let connection = plan.accept(at: .zero)
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

/// Draws profiles: any kind of fault, any number, in phases or not, all of them ending some day.
struct RandomProfile {
    private var generator: SeededGenerator
    /// Tries that are further and further apart may never meet the intervals of a cycle in which all is well.
    private var mayBackOff = false

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func chance(_ fraction: Double) -> Bool { generator.nextFraction() < fraction }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &generator)]
    }

    mutating func profile(cuts: Bool) -> Profile {
        let repeats = chance(0.5)
        mayBackOff = !repeats
        let faults = (0..<pick([0, 1, 2, 4])).map { fault(index: $0, cuts: cuts, mayBeSilent: false) }
        let phases = (0..<pick([0, 0, 2, 3])).map { phase in
            Phase(
                name: "phase \(phase)",
                duration: pick([.nanoseconds(7_000_003), .milliseconds(40), .seconds(2)]),
                faults: (0..<pick([0, 1, 2])).map {
                    fault(index: (phase + 1) * 10 + $0, cuts: cuts, mayBeSilent: phase > 0)
                }
            )
        }
        return .of(faults, phases: phases, repeats: repeats)
    }

    private mutating func fault(index: Int, cuts: Bool, mayBeSilent: Bool) -> Fault {
        var fault = Fault(name: "fault \(index)", kind: kind(cuts: cuts, mayBeSilent: mayBeSilent))
        fault.stream = pick([.both, .both, .upstream, .downstream])
        if chance(0.3) {
            let from = Duration.milliseconds(pick([0, 5, 700]))
            fault.condition = Condition(ageFrom: from, ageUntil: chance(0.5) ? from + .milliseconds(300) : nil)
        } else if chance(0.2) {
            let on = Duration.milliseconds(pick([3, 400]))
            let clock = chance(0.5) ? ClockWindow(from: .milliseconds(5)) : nil
            fault.condition = Condition(clock: clock, duty: DutyCycle(on: on, off: .milliseconds(500)))
        }
        return fault
    }

    private static let high = BitRate(bitsPerSecond: 1 << 52)
    private static let steps = Bandwidth.Course.steps(
        [.init(after: .milliseconds(300), rate: BitRate(bitsPerSecond: 50_000))],
        repeats: .seconds(1)
    )

    private mutating func kind(cuts: Bool, mayBeSilent: Bool) -> FaultKind {
        if mayBeSilent, chance(0.4) {
            let recoveries: [Outage.Recovery] = [.immediate, .tcpBackoff(roundTrip: .milliseconds(20))]
            return .outage(Outage(how: .silence, recovery: mayBackOff ? pick(recoveries) : .immediate))
        }
        if cuts, chance(0.3) { return .cut(Cut(position: position(), how: pick([.close, .reset, .silence]))) }
        switch pick([0, 1, 2, 3, 4, 5, 6, 7]) {
        case 0:
            return .latency(
                Latency(
                    delay: pick([.zero, .nanoseconds(1), .milliseconds(30), .seconds(1)]),
                    jitter: pick([.zero, .milliseconds(10)]),
                    distribution: pick(Latency.Distribution.words + [.quantiles([.zero, .milliseconds(9)])]),
                    correlation: pick([.never, .always]),
                    spikes: pick([nil, .init(every: .seconds(1), duration: .milliseconds(9), extra: .milliseconds(2))])
                )
            )
        case 1:
            return .bandwidth(
                Bandwidth(
                    rate: BitRate(bitsPerSecond: pick([9_000, 90_000, 400_000, 80_000_000, 1 << 50])),
                    burst: ByteCount(pick([0, 0, 1, 3_000])),
                    scope: pick(Bandwidth.Scope.allCases),
                    course: pick([.steady, .steady, Self.steps, .wave(high: Self.high, period: .milliseconds(800))])
                )
            )
        case 2:
            let times = pick([[1], [0, 0, 3], [5, 40, 41, 41, 700]] as [[UInt32]])
            return .trace(Trace(file: "", opportunities: times, queue: ByteCount(pick([1_500, 20_000]))))
        case 3:
            let size: Int64 = pick([1_100, 30_000])
            return .slice(
                Slice(
                    size: ByteCount(size),
                    spread: ByteCount(pick([0, size / 2])),
                    pause: pick([.zero, .nanoseconds(1), .milliseconds(3)])
                )
            )
        case 4:
            return .slowReader(SlowReader(rate: BitRate(bitsPerSecond: pick([90_000, 1 << 40]))))
        case 5:
            return .loss(
                Loss(
                    rate: Probability(pick([0, 0.001, 0.05, 0.3])) ?? .never,
                    burst: pick([1, 1, 5]),
                    roundTrip: pick([.nanoseconds(1), .milliseconds(3), .milliseconds(80)]),
                    sender: pick(Loss.Sender.allCases),
                    link: BitRate(bitsPerSecond: pick([90_000, 20_000_000, 1 << 50]))
                )
            )
        case 6:
            return .slowClose(SlowClose(delay: pick([.nanoseconds(1), .milliseconds(70), .seconds(3)])))
        default:
            let duration = pick([Duration.nanoseconds(1), .milliseconds(70), .seconds(5)])
            return .stall(Stall(at: ByteCount(offset()), duration: duration))
        }
    }

    private mutating func position() -> Cut.Position {
        switch pick([0, 1, 2, 3]) {
        case 0: .at(ByteCount(offset()))
        case 1: .inTurn([ByteCount(offset())])
        case 2: .every(ByteCount(offset() + 1))
        default: .between(ByteCount(3), ByteCount(offset() + 3))
        }
    }

    private mutating func offset() -> Int64 { pick([0, 1, 10, 1_470, 9_999, 40_000]) }
}
