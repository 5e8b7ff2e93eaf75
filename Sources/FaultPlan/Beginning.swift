import FaultProfile
import Units

/// What is gathered of the faults that are about the beginning of one connection.
struct Beginning {
    /// The longest of the delays before the server is connected to.
    private(set) var delay: ConnectDelay?
    /// Those that leave it hanging.
    private(set) var hangs: [Hang.Source] = []
    /// Those that end it at once.
    private(set) var endings: [Interruptions.Source] = []

    /// Adds a fault that is on when the connection is accepted.
    mutating func add(_ connect: Connect, fault: Int, window: Window, key: RandomKey) {
        switch connect.how {
        case .delay(let time, let jitter):
            let deviation = Double(jitter.nanoseconds) * (2 * key.adding("connect").fraction(at: 0) - 1)
            let drawn = time.nanoseconds.addingSaturated(Int64(deviation))
            if drawn > 0 { add(ConnectDelay(fault: fault, duration: .nanoseconds(drawn))) }
        case .hang:
            hangs.append(Hang.Source(fault: fault, window: window))
        case .refuse:
            endings.append(Interruptions.Source(fault: fault, window: .always, cause: .beginning(.reset)))
        case .close:
            endings.append(Interruptions.Source(fault: fault, window: .always, cause: .beginning(.close)))
        }
    }

    /// Adds a delay, if there is one.
    mutating func add(_ other: ConnectDelay?) {
        guard let other else { return }
        if delay.map({ $0.duration < other.duration }) ?? true { delay = other }
    }
}

/// For how long a connection that the system has accepted is left alone: nobody reads it, and no server is connected to.
public struct Hang: Sendable {
    struct Source: Sendable {
        let fault: Int
        let window: Window
    }

    let sources: [Source]
    let schedule: Schedule
    let opened: Moment

    /// The strike of a fault that leaves the connection hanging at `now`; `nil` when none does, or any more.
    public func strike(at now: Moment) -> Strike? {
        guard !sources.isEmpty else { return nil }
        let phase = schedule.stretch(at: now).phase
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        let source = sources.first { $0.window.contains(at: now, age: age, currentPhase: phase) }
        return source.map { Strike(fault: $0.fault, offset: nil, effect: .hangs) }
    }

    /// When to ask `strike` again; `distantFuture` when the answer can't change.
    public func nextChange(after now: Moment) -> Moment {
        let stretch = schedule.stretch(at: now)
        return sources.map { $0.window.nextChange(after: now, opened: opened, stretch: stretch) }.min()
            ?? .distantFuture
    }
}
