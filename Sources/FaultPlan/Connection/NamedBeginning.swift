import Units

/// The wait of a client's first bytes for the faults of a connection's beginning that are narrowed to the name in them.
///
/// The server is connected by then, so a fault that would hold up dialing holds up the bytes.
public struct NamedBeginning: Sendable {
    /// What becomes of the first bytes.
    public enum Verdict: Hashable, Sendable {
        /// They wait, and are asked for again at the moment.
        case wait(until: Moment)
        /// They pass.
        case pass
        /// The connection fails.
        case fail
    }

    private enum Step {
        case start
        case hanging
        case delayed(until: Moment)
    }

    private var hang: ConnectionHang
    private var delay: ConnectDelay?
    private var step = Step.start
    private var spacing = WakeSpacing()

    /// The wait for `faults`; `nil` if none of them delays a connection.
    init?(_ faults: DialFaults, schedule: Schedule, opened: Moment) {
        if faults.hangs.isEmpty, faults.delay == nil { return nil }
        hang = ConnectionHang(sources: faults.hangs, schedule: schedule, opened: opened)
        delay = faults.delay
    }

    /// What becomes of the bytes at `now`, and the event of a fault that begins to act. The delay begins with the first call
    /// at which nothing hangs.
    public mutating func advance(at now: Moment) -> (verdict: Verdict, event: FaultEvent?) {
        switch step {
        case .start, .hanging:
            if let event = hang.event(at: now) {
                var isNew = false
                if case .start = step { isNew = true }
                step = .hanging
                return (.wait(until: spacing.wake(for: hang.nextChange(after: now), now: now)), isNew ? event : nil)
            }
            guard let delay else { return (.pass, nil) }
            let moment = now + delay.duration
            step = .delayed(until: moment)
            return (.wait(until: moment), delay.event)
        case .delayed(let moment):
            guard let delay else { return (.pass, nil) }
            if now < moment { return (.wait(until: moment), nil) }
            return (delay.isFailure ? .fail : .pass, nil)
        }
    }

    /// Goes on in another generation of the plan, in which faults may be gone.
    public mutating func follow(_ update: ConnectionUpdate) {
        hang = update.hang(after: hang)
        delay = update.connectDelay(after: delay)
        spacing = WakeSpacing()
    }
}
