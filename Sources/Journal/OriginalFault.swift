import FaultPlan
import FaultProfile
import Units

/// A fault of the journal's profile, and the longest time of its phase.
struct OriginalFault: Sendable {
    let fault: Fault
    /// `nil` if it is in no phase, or in one that doesn't end.
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

    /// The fault that repeats an event at its position; `nil` if only the original fault can.
    func kind(of event: RecordedFaultEvent, seed: UInt64) -> FaultKind? {
        guard let offset = event.offset, offset >= 0, let connection = event.connection, connection > 0,
            let direction = event.direction
        else { return nil }
        let (name, proxy) = (fault.name, event.proxy)
        let position = ReplayedPosition(
            at: ByteCount(offset),
            base: fault.kind.base == .wire ? .wire : event.base,
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

    /// The messages that the repetition of an event is narrowed to: the event's message. A truncation ends with its
    /// message, whatever its base.
    ///
    /// - Parameter drawsAgain: whether the repetition draws what the fault drew: it has the same name and connection.
    func messages(of event: RecordedFaultEvent, drawsAgain: Bool) -> HTTPCondition? {
        guard event.base != .connection, let request = event.request, request > 0 else {
            guard fault.kind.endsWithMessage, event.base == .connection,
                drawsAgain || fault.condition.http?.chance == .always
            else { return nil }
            return fault.condition.http
        }
        // Informational responses share the number of the final one and differ in the status.
        let requests = ConnectionSelection.range(UInt64(request)...UInt64(request))
        return HTTPCondition(status: fault.condition.http?.status, requests: requests)
    }

    /// The longest time that the fault is on without a break, by its phase and condition. The journal doesn't record when
    /// it went off.
    private var longestInterval: Duration {
        let condition = fault.condition
        let ends: [Duration?] = [
            phaseLength, condition.duty?.on, condition.ageUntil.map { $0 - condition.ageFrom },
            condition.clock.flatMap { clock -> Duration? in clock.until.map { $0 - clock.from } },
        ]
        return ends.reduce(Duration.nanoseconds(Int64.max)) { min($0, $1 ?? $0) }
    }
}
