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

    /// The fault that acts as `event` tells; `nil` where only the fault that it came from can.
    func kind(of event: RecordedFaultEvent, seed: UInt64) -> FaultKind? {
        guard let offset = event.offset, offset >= 0, let connection = event.connection, connection > 0,
            let direction = event.direction
        else { return nil }
        let (name, proxy) = (fault.name, event.proxy)
        let position = ReplayedPosition(
            at: ByteCount(offset),
            base: event.base,
            longestInterval: longestInterval,
            drawnBit: {
                Corrupt.drawnBit(
                    at: offset,
                    of: name,
                    connection: connection,
                    direction: direction,
                    proxy: proxy,
                    seed: seed
                )
            }
        )
        return fault.kind.replayed(at: position)
    }

    /// The messages that a fault event is narrowed to: the one that was acted, where one counted. What vanishes ends with its
    /// message as well, whatever its position counts.
    func messages(of event: RecordedFaultEvent) -> HTTPCondition? {
        guard event.base != .connection, let request = event.request, request > 0 else {
            guard fault.kind.endsWithMessage, event.base == .connection, fault.condition.http?.chance == .always
            else { return nil }
            return fault.condition.http
        }
        // Informational responses have the number of the final one: the status tells them apart.
        let requests = ConnectionSelection.range(UInt64(request)...UInt64(request))
        return HTTPCondition(status: fault.condition.http?.status, requests: requests)
    }

    /// The longest time that the fault can be on without a break, by its phase and its condition. A journal doesn't tell
    /// when it went off.
    private var longestInterval: Duration {
        let condition = fault.condition
        let ends: [Duration?] = [
            phaseLength, condition.duty?.on, condition.ageUntil.map { $0 - condition.ageFrom },
            condition.clock.flatMap { clock -> Duration? in clock.until.map { $0 - clock.from } },
        ]
        return ends.reduce(Duration.nanoseconds(Int64.max)) { min($0, $1 ?? $0) }
    }
}
