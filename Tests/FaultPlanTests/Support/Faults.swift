import FaultPlan
import Units

@testable import FaultProfile

extension Fault {
    static func latency(
        _ delay: Duration,
        jitter: Duration = .zero,
        distribution: Latency.Distribution = .uniform,
        name: String = "latency"
    ) -> Fault {
        Fault(name: name, kind: .latency(Latency(delay: delay, jitter: jitter, distribution: distribution)))
    }

    static func bandwidth(
        bytesPerSecond: Int64,
        burst: Int64 = 0,
        scope: Bandwidth.Scope = .connection,
        name: String = "bandwidth"
    ) -> Fault {
        bandwidth(.bytesPerSecond(bytesPerSecond), burst: burst, scope: scope, name: name)
    }

    static func bandwidth(
        _ rate: BitRate,
        burst: Int64 = 0,
        scope: Bandwidth.Scope = .connection,
        name: String = "bandwidth"
    ) -> Fault {
        Fault(name: name, kind: .bandwidth(Bandwidth(rate: rate, burst: ByteCount(burst), scope: scope)))
    }

    static func cut(at offset: Int64, _ how: Cut.Ending = .reset, name: String = "cut") -> Fault {
        cut(.at(ByteCount(offset)), how, name: name)
    }

    static func cut(_ position: Cut.Position, _ how: Cut.Ending = .reset, name: String = "cut") -> Fault {
        Fault(name: name, kind: .cut(Cut(position: position, how: how)))
    }

    static func stall(at offset: Int64, for duration: Duration, name: String = "stall") -> Fault {
        Fault(name: name, kind: .stall(Stall(at: ByteCount(offset), duration: duration)))
    }

    static func corrupt(_ position: Corrupt.Position, name: String = "corrupt") -> Fault {
        Fault(name: name, kind: .corrupt(Corrupt(position: position)))
    }

    static func truncate(at offset: Int64, _ bytes: Int64, name: String = "truncate") -> Fault {
        Fault(name: name, kind: .truncate(Truncate(at: ByteCount(offset), bytes: ByteCount(bytes))))
    }

    static func outage(_ how: Outage.Mode, name: String = "outage") -> Fault {
        Fault(name: name, kind: .outage(Outage(how: how)))
    }

    static func outage(
        _ how: Outage.Mode,
        recovery: Outage.Recovery = .immediate,
        name: String = "outage"
    ) -> Fault {
        Fault(name: name, kind: .outage(Outage(how: how, recovery: recovery)))
    }

    /// A loss on a path with a round trip of so many milliseconds.
    static func loss(
        _ rate: Probability,
        burst: Int = 1,
        _ roundTrip: Int,
        _ sender: Loss.Sender,
        link: BitRate = Loss.defaultLink,
        name: String = "loss"
    ) -> Fault {
        let loss = Loss(
            rate: rate,
            burst: burst,
            roundTrip: .milliseconds(roundTrip),
            sender: sender,
            link: link
        )
        return Fault(name: name, kind: .loss(loss))
    }

    static func connect(_ how: Connect.Mode, name: String = "connect") -> Fault {
        Fault(name: name, kind: .connect(Connect(how: how)))
    }

    static func connectionLimit(_ limit: Int, _ how: ConnectionLimit.Mode, name: String = "limit") -> Fault {
        Fault(name: name, kind: .connectionLimit(ConnectionLimit(limit: limit, how: how)))
    }

    static func slowClose(_ delay: Duration, name: String = "slow-close") -> Fault {
        Fault(name: name, kind: .slowClose(SlowClose(delay: delay)))
    }

    /// Downstream, as the links of tests are.
    static func halfOpen(at offset: Int64) -> Fault {
        Fault(name: "half-open", stream: .downstream, kind: .halfOpen(HalfOpen(point: .at(ByteCount(offset)))))
    }

    static func halfOpen(after age: Duration) -> Fault {
        Fault(name: "half-open", stream: .downstream, kind: .halfOpen(HalfOpen(point: .after(age))))
    }

    static func discard(closeAfter: Duration? = nil, name: String = "discard") -> Fault {
        Fault(name: name, kind: .discard(Discard(closeAfter: closeAfter)))
    }

    /// This fault with `condition`.
    func when(_ condition: Condition) -> Fault {
        var fault = self
        fault.condition = condition
        return fault
    }

    /// This fault on one stream only.
    func on(_ stream: StreamSelection) -> Fault {
        var fault = self
        fault.stream = stream
        return fault
    }
}

extension Latency.Distribution {
    /// Those that a profile has a word for.
    static let words: [Latency.Distribution] = [.uniform, .normal, .pareto, .logNormal]
}

extension Profile {
    /// A profile of faults and phases, without a care for anything else.
    static func of(_ faults: [Fault], phases: [Phase] = [], repeats: Bool = false) -> Profile {
        Profile(name: "test", faults: faults, phases: phases, repeats: repeats)
    }
}

extension Phase {
    static func lasting(_ duration: Duration?, _ faults: Fault..., name: String = "phase") -> Phase {
        Phase(name: name, duration: duration, faults: faults)
    }
}

extension Plan {
    /// A plan that starts at the origin of the clock.
    static func of(_ profile: Profile, seed: UInt64 = 1, holdLimit: ByteCount = Link.defaultHoldLimit) -> Plan {
        Plan(profile: profile, seed: seed, proxy: "proxy", start: .zero, holdLimit: holdLimit)
    }
}

extension Admitter {
    /// The admitter of such a plan.
    static func of(_ profile: Profile, seed: UInt64 = 1, holdLimit: ByteCount = Link.defaultHoldLimit) -> Admitter {
        Admitter(.of(profile, seed: seed, holdLimit: holdLimit))
    }
}

extension Link {
    /// The downstream link of a first connection, opened with the plan's clock.
    static func with(_ faults: Fault..., phases: [Phase] = [], repeats: Bool = false, seed: UInt64 = 1) -> Link {
        var admitter = Admitter.of(.of(faults, phases: phases, repeats: repeats), seed: seed)
        return admitter.accept(at: .zero).downstream
    }
}

extension Moment {
    static func milliseconds(_ count: Int64) -> Moment { Moment(nanoseconds: count * 1_000_000) }
    static func seconds(_ count: Int64) -> Moment { Moment(nanoseconds: count * 1_000_000_000) }
}

extension Probability {
    /// A chance of so many hundredths, from 0 to 100.
    static func percent(_ count: Double) -> Probability {
        Probability(count / 100) ?? .never
    }
}
