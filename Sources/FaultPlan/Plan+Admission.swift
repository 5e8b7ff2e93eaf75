import FaultProfile
import Units

/// What happens to every new connection.
public enum Admission: Hashable, Sendable {
    /// Accepted.
    case open
    /// Refused by the fault with this identity.
    case refused(fault: Int)
    /// Left unanswered by the fault with this identity.
    case unanswered(fault: Int)
}

/// Whether a proxy has room for one more connection.
public enum Room: Hashable, Sendable {
    case free
    /// A further connection is reset by the fault with this identity.
    case refused(fault: Int)
    /// A further connection waits until another ends, by the fault with this identity.
    case waiting(fault: Int)
}

/// A fault on every new connection, and when it is on.
struct AdmissionFault: Sendable {
    /// The effect on new connections.
    enum Role: Hashable {
        case refuses
        case leavesUnanswered
        case limits
    }

    /// The fault's identity, and its index in `Plan.faults`.
    let fault: Int
    let index: Int
    let role: Role
    let window: Window
}

extension Plan {
    /// What happens to new connections at `now`, and when to ask again. A refusal takes precedence.
    public func admission(at now: Moment) -> (admission: Admission, until: Moment) {
        guard !gates.isEmpty else { return (.open, .distantFuture) }
        let interval = schedule.interval(at: now)
        let refusing = standing(.refuses, at: now, interval)
        let hanging = standing(.leavesUnanswered, at: now, interval)
        let limited = standing(.limits, at: now, interval)
        let until = min(refusing.until, hanging.until, limited.until)
        if let fault = refusing.fault { return (.refused(fault: fault), until) }
        if let fault = hanging.fault { return (.unanswered(fault: fault), until) }
        return (.open, until)
    }

    /// Whether there is room for another connection at `now` beside `open` others. The lowest limit holds.
    public func room(for open: Int, at now: Moment) -> Room {
        var lowest = Int.max
        var room = Room.free
        for gate in gates where gate.role == .limits {
            guard case .connectionLimit(let limit) = faults[gate.index].kind, open >= limit.limit, limit.limit < lowest,
                triggers.allow(gate.index),
                gate.window.contains(at: now, age: 0, currentPhase: schedule.interval(at: now).phase)
            else { continue }
            lowest = limit.limit
            switch limit.how {
            case .refuse: room = .refused(fault: gate.fault)
            case .hang: room = .waiting(fault: gate.fault)
            }
        }
        return room
    }

    /// The first fault of a role that is on at `now`, and when that may change. `interval` contains `now`.
    func standing(_ role: AdmissionFault.Role, at now: Moment, _ interval: Schedule.Interval) -> (
        fault: Int?, until: Moment
    ) {
        var until = Moment.distantFuture
        var standing: Int?
        for gate in gates where gate.role == role && triggers.allow(gate.index) {
            until = min(until, gate.window.nextChange(after: now, opened: now, interval: interval))
            if standing == nil, gate.window.contains(at: now, age: 0, currentPhase: interval.phase) {
                standing = gate.fault
            }
        }
        return (standing, until)
    }
}

extension ConnectionLimit: PlannedFault {
    func gateRole(isForEverybody: Bool) -> AdmissionFault.Role? { .limits }
}
