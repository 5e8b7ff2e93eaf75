import FaultPlan
import FaultProfile
import Units

/// A fault of the profile that a journal was made with, and how long its phase lasts at most.
struct OriginalFault: Sendable {
    let fault: Fault
    /// `nil` where it is in none, or in one that never gives way to another.
    let phaseLength: Duration?

    /// The faults of a profile, in its order.
    static func all(of profile: Profile) -> [OriginalFault] {
        let isEndless = profile.repeats && profile.phases.count == 1
        let always = profile.faults.map { OriginalFault(fault: $0, phaseLength: nil) }
        return always
            + profile.phases.flatMap { phase in
                let length = isEndless ? nil : phase.duration.map { $0 + phase.jitter }
                return phase.faults.map { OriginalFault(fault: $0, phaseLength: length) }
            }
    }

    /// The fault that strikes as `strike` tells; `nil` where only the fault that it came from can.
    func kind(of strike: RecordedStrike, seed: UInt64) -> FaultKind? {
        guard let offset = strike.offset, offset >= 0, let connection = strike.connection, connection > 0,
            let direction = strike.direction
        else { return nil }
        let at = ByteCount(offset)
        switch fault.kind {
        case .cut(let cut): return .cut(Cut(position: .at(at), how: cut.how, origin: strike.origin))
        case .stall(let stall):
            return .stall(Stall(at: at, origin: strike.origin, duration: min(stall.duration, longestStretch)))
        case .truncate(let truncate):
            return .truncate(Truncate(at: at, origin: strike.origin, bytes: truncate.bytes))
        case .halfOpen: return .halfOpen(HalfOpen(point: .at(at)))
        case .corrupt(let corrupt) where ReplayPlan.isAtPosition(fault.kind):
            // A fault of another name would draw another bit.
            let drawn = Corrupt.drawnBit(
                at: offset,
                of: fault.name,
                connection: connection,
                direction: direction,
                proxy: strike.proxy,
                seed: seed
            )
            return .corrupt(Corrupt(position: .at(at), origin: strike.origin, bit: corrupt.bit ?? drawn))
        case .latency, .bandwidth, .outage, .loss, .trace, .slice, .slowReader, .corrupt, .http: return nil
        case .connect, .connectionLimit, .slowClose: return nil
        }
    }

    /// The messages that a strike is narrowed to: the one that was struck, where one counted. What vanishes ends with its
    /// message as well, whatever its position counts.
    func messages(of strike: RecordedStrike) -> HTTPCondition? {
        guard strike.origin != .connection, let request = strike.request, request > 0 else {
            guard case .truncate = fault.kind, strike.origin == .connection, fault.condition.http?.chance == .always
            else { return nil }
            return fault.condition.http
        }
        // Informational responses have the number of the final one: the status tells them apart.
        let requests = ConnectionSelection.range(UInt64(request)...UInt64(request))
        return HTTPCondition(status: fault.condition.http?.status, requests: requests)
    }

    /// The longest time that the fault can be on without a break, by its phase and its condition. A journal doesn't tell
    /// when it went off.
    private var longestStretch: Duration {
        let condition = fault.condition
        let ends: [Duration?] = [
            phaseLength, condition.duty?.on, condition.ageUntil.map { $0 - condition.ageFrom },
            condition.clock.flatMap { clock -> Duration? in clock.until.map { $0 - clock.from } },
        ]
        return ends.reduce(Duration.nanoseconds(Int64.max)) { min($0, $1 ?? $0) }
    }
}
