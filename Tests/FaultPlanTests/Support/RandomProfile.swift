import FaultPlan
import Units

@testable import FaultProfile

/// Draws profiles: faults of every kind of the registry, any number, in phases or not.
///
/// A kind that is new is drawn as the example of its page has it, in every property, until it is named here.
struct RandomProfile {
    /// Which kinds are drawn.
    enum Kinds {
        /// Those that pass every byte some day, but for those that they put in or have vanish.
        case lossless
        /// Cuts as well.
        case cuts
        /// Every kind, in any manner.
        case everything
    }

    private var generator: SeededGenerator
    /// Tries that are further and further apart may never meet the intervals of a cycle in which all is well.
    private var mayBackOff = false

    /// The kinds of the faults that were drawn.
    private(set) var drawn: Set<FaultKind.Name> = []

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func chance(_ fraction: Double) -> Bool { generator.nextFraction() < fraction }

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: values.indices, using: &generator)]
    }

    mutating func profile(_ kinds: Kinds) -> Profile {
        let repeats = chance(0.5)
        mayBackOff = !repeats
        let faults = (0..<pick([0, 1, 2, 4])).map { fault(index: $0, kinds, mayBeSilent: false) }
        let phases = (0..<pick([0, 0, 2, 3])).map { phase in
            Phase(
                name: "phase \(phase)",
                duration: pick([.nanoseconds(7_000_003), .milliseconds(40), .seconds(2)]),
                faults: (0..<pick([0, 1, 2])).map {
                    fault(index: (phase + 1) * 10 + $0, kinds, mayBeSilent: phase > 0)
                }
            )
        }
        return .of(faults, phases: phases, repeats: repeats)
    }

    private mutating func fault(index: Int, _ kinds: Kinds, mayBeSilent: Bool) -> Fault {
        var fault = Fault(name: "fault \(index)", kind: kind(kinds, mayBeSilent: mayBeSilent))
        fault.stream = pick([.both, .both, .upstream, .downstream])
        // Both is for links of one connection no direction of it.
        if case .halfOpen = fault.kind { fault.stream = pick([.upstream, .downstream]) }
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

    /// The kinds that `kinds` names: what a new kind is must be said here where it isn't lossless.
    static func kinds(_ kinds: Kinds) -> Set<FaultKind.Name> {
        let ending = ["cut", "half-open", "discard"]
        return Set(
            FaultKind.Name.allCases.filter { name in
                switch kinds {
                case .everything: true
                case .cuts: name.rawValue == "cut" || !ending.contains(name.rawValue)
                case .lossless: !ending.contains(name.rawValue)
                }
            }
        )
    }

    private static let examples: [FaultKind.Name: FaultKind] = {
        var examples: [FaultKind.Name: FaultKind] = [:]
        // The trace has a file, and isn't drawn by its example.
        for name in FaultKind.Name.allCases where name.rawValue != "trace" {
            let text = #"{ "name": "example", "faults": ["# + name.example + "] }"
            let profile = try? ProfileReader.profile(from: ProfileSource(file: "example.json", text: text))
            guard let fault = profile?.faults.first else { preconditionFailure("the example of \(name) can be read") }
            examples[name] = fault.kind
        }
        return examples
    }()

    private static let high = BitRate(bitsPerSecond: 1 << 52)
    private static let steps = Bandwidth.Variation.steps(
        [.init(after: .milliseconds(300), rate: BitRate(bitsPerSecond: 50_000))],
        repeats: .seconds(1)
    )

    private mutating func kind(_ kinds: Kinds, mayBeSilent: Bool) -> FaultKind {
        let names = FaultKind.Name.allCases.filter {
            Self.kinds(kinds).contains($0) && ($0.rawValue != "outage" || mayBeSilent || kinds == .everything)
        }
        var name = pick(names)
        // What ends or holds a connection is drawn more often than the others.
        if mayBeSilent, chance(0.3) { name = names.first { $0.rawValue == "outage" } ?? name }
        if kinds == .cuts, chance(0.3) { name = names.first { $0.rawValue == "cut" } ?? name }
        drawn.insert(name)
        return kind(name, kinds)
    }

    private static func spikes(isBehind: Bool) -> Latency.Spikes {
        Latency.Spikes(
            every: .milliseconds(100),
            duration: .milliseconds(9),
            extra: .milliseconds(20),
            isBehind: isBehind,
            scope: isBehind ? .connection : .proxy
        )
    }

    private mutating func kind(_ name: FaultKind.Name, _ kinds: Kinds) -> FaultKind {
        switch name.rawValue {
        case "outage":
            let recoveries: [Outage.Recovery] = [.immediate, .tcpBackoff(roundTrip: .milliseconds(20))]
            let how = kinds == .everything ? pick(Outage.Mode.allCases) : .silence
            return .outage(Outage(how: how, recovery: mayBackOff ? pick(recoveries) : .immediate))
        case "cut":
            return .cut(Cut(position: position(kinds), how: pick([.close, .reset, .silence])))
        case "latency":
            return .latency(
                Latency(
                    delay: pick([.zero, .nanoseconds(1), .milliseconds(30), .seconds(1)]),
                    jitter: pick([.zero, .milliseconds(10)]),
                    distribution: pick(Latency.Distribution.words + [.quantiles([.zero, .milliseconds(9)])]),
                    correlation: pick([.never, .always]),
                    spikes: pick([nil, Self.spikes(isBehind: false), Self.spikes(isBehind: true)])
                )
            )
        case "bandwidth":
            return .bandwidth(
                Bandwidth(
                    rate: BitRate(bitsPerSecond: pick([9_000, 90_000, 400_000, 80_000_000, 1 << 50])),
                    burst: ByteCount(pick([0, 0, 1, 3_000])),
                    scope: pick(Bandwidth.Scope.allCases),
                    variation: pick([.steady, .steady, Self.steps, .wave(high: Self.high, period: .milliseconds(800))])
                )
            )
        case "trace":
            let times = pick([[1], [0, 0, 3], [5, 40, 41, 41, 700]] as [[UInt32]])
            return .trace(Trace(file: "", opportunities: times, queue: ByteCount(pick([1_500, 20_000]))))
        case "slice":
            let size: Int64 = pick([1_100, 30_000])
            return .slice(
                Slice(
                    size: ByteCount(size),
                    spread: ByteCount(pick([0, size / 2])),
                    pause: pick([.zero, .nanoseconds(1), .milliseconds(3)])
                )
            )
        case "slow-reader":
            return .slowReader(SlowReader(rate: BitRate(bitsPerSecond: pick([90_000, 1 << 40]))))
        case "loss":
            return .loss(
                Loss(
                    rate: Probability(pick([0, 0.001, 0.05, 0.3])) ?? .never,
                    burst: pick([1, 1, 5]),
                    roundTrip: pick([.nanoseconds(1), .milliseconds(3), .milliseconds(80)]),
                    sender: pick(Loss.Sender.allCases),
                    link: BitRate(bitsPerSecond: pick([90_000, 20_000_000, 1 << 50]))
                )
            )
        case "slow-close":
            return .slowClose(SlowClose(delay: pick([.nanoseconds(1), .milliseconds(70), .seconds(3)])))
        case "stall":
            let duration = pick([Duration.nanoseconds(1), .milliseconds(70), .seconds(5)])
            return .stall(Stall(at: ByteCount(offset()), duration: duration))
        case "truncate":
            return .truncate(Truncate(at: ByteCount(offset()), bytes: ByteCount(pick([1, 100, 50_000]))))
        case "insert":
            return .insert(Insert(position: .at(ByteCount(offset())), bytes: Array("inserted".utf8)))
        case "corrupt":
            return .corrupt(Corrupt(position: pick([.at(ByteCount(offset())), .rate(Probability(0.001) ?? .never)])))
        case "half-open":
            return .halfOpen(HalfOpen(point: pick([.at(ByteCount(offset())), .after(.milliseconds(70))])))
        case "discard":
            return .discard(Discard(closeAfter: pick([nil, .nanoseconds(1), .milliseconds(70)])))
        default:
            guard let example = Self.examples[name] else { preconditionFailure("every kind has an example") }
            return example
        }
    }

    private mutating func position(_ kinds: Kinds) -> Cut.Position {
        // Where traffic cuts is not in its event.
        switch pick(kinds == .everything ? [0, 1, 2, 3, 4, 5] : [0, 1, 2, 3, 4]) {
        case 0: .at(ByteCount(offset()))
        case 1: .inTurn([ByteCount(offset())])
        case 2: .every(ByteCount(offset() + 1))
        case 3: .limit(ByteCount(offset()))
        case 5: .traffic(pick([.zero, .nanoseconds(1), .milliseconds(70)]))
        default: .between(ByteCount(3), ByteCount(offset() + 3))
        }
    }

    private mutating func offset() -> Int64 { pick([0, 1, 10, 1_470, 9_999, 40_000]) }
}
