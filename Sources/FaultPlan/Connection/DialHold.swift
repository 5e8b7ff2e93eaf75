import Units

/// The wait that faults put in front of a connection's bytes: for as long as one hangs it, then for a delay.
///
/// The server is dialed afterwards. Where the name in the client's first bytes brings the faults it is connected already, and
/// those bytes wait.
public struct DialHold: Sendable {
    /// What becomes of the connection.
    public enum Verdict: Hashable, Sendable {
        /// It waits, and is asked for again at the moment.
        case wait(until: Moment)
        /// The server is dialed, or the first bytes pass.
        case pass
        /// It fails.
        case fail
    }

    struct Hang: Sendable {
        let fault: Int
        let window: Window
    }

    private enum Step {
        case start
        case hanging
        case delayed(until: Moment)
    }

    /// The faults that hang the connection: before it is dialed, it is left to the kernel.
    private let hangs: [Hang]
    /// The delay.
    public let delay: ConnectDelay?
    private let schedule: Schedule
    private let opened: Moment
    private var step = Step.start
    private var spacing = WakeSpacing()

    /// The wait for `faults`; `nil` if none of them holds up a connection.
    init?(_ faults: DialFaults, schedule: Schedule, opened: Moment) {
        if faults.hangs.isEmpty, faults.delay == nil { return nil }
        hangs = faults.hangs
        delay = faults.delay
        self.schedule = schedule
        self.opened = opened
    }

    /// The same wait in another generation of the plan, in which faults may be gone.
    init(_ last: DialHold, after change: PlanChange) {
        hangs = last.hangs.filter { change.isKept($0.fault) }
            .map { Hang(fault: $0.fault, window: change.plan.window(ofIdentity: $0.fault)) }
        delay = last.delay.flatMap { change.isKept($0.fault) ? $0 : nil }
        schedule = change.plan.schedule
        opened = last.opened
        step = last.step
    }

    /// What becomes of the connection at `now`, and the event of a fault that begins to act. The delay begins with the first
    /// call at which nothing hangs.
    public mutating func advance(at now: Moment) -> (verdict: Verdict, event: FaultEvent?) {
        switch step {
        case .start, .hanging:
            if let fault = hangingFault(at: now) {
                var event: FaultEvent?
                if case .start = step { event = FaultEvent(fault: fault, offset: nil, effect: .hangs) }
                step = .hanging
                return (.wait(until: spacing.wake(for: nextChange(after: now), now: now)), event)
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

    private func hangingFault(at now: Moment) -> Int? {
        guard !hangs.isEmpty else { return nil }
        let phase = schedule.interval(at: now).phase
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        return hangs.first { $0.window.contains(at: now, age: age, currentPhase: phase) }?.fault
    }

    private func nextChange(after now: Moment) -> Moment {
        let interval = schedule.interval(at: now)
        return hangs.map { $0.window.nextChange(after: now, opened: opened, interval: interval) }.min()
            ?? .distantFuture
    }
}
