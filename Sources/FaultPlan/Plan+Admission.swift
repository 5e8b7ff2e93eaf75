import FaultProfile
import Units

/// What a proxy does about everybody who connects.
public enum Admission: Hashable, Sendable {
    /// Connections are accepted.
    case open
    /// They are refused, by the fault at the index.
    case refused(fault: Int)
    /// Nobody answers, by the fault at the index.
    case unanswered(fault: Int)
}

/// Whether a proxy has room for one more connection.
public enum Room: Hashable, Sendable {
    case free
    /// One more is reset, by the fault at the index.
    case refused(fault: Int)
    /// One more has to wait until another ends, by the fault at the index.
    case waiting(fault: Int)
}

extension Plan {
    /// What happens to everybody who connects at `now`, and when to ask again. A refusal goes before a silence.
    public func admission(at now: Moment) -> (admission: Admission, until: Moment) {
        let refusing = refusal(at: now)
        let hanging = standing(at: now) { hangsEverybody($0) }
        let limited = standing(at: now) { isLimit($0) }
        let until = min(refusing.until, hanging.until, limited.until)
        if let fault = refusing.fault { return (.refused(fault: fault), until) }
        if let fault = hanging.fault { return (.unanswered(fault: fault), until) }
        return (.open, until)
    }

    /// Whether one more connection finds room at `now` while `open` others are there. Of several limits the lowest holds.
    public func room(for open: Int, at now: Moment) -> Room {
        var lowest = Int.max
        var room = Room.free
        for (index, fault) in faults.enumerated() {
            guard case .connectionLimit(let limit) = fault.kind, open >= limit.limit, limit.limit < lowest,
                isOn(index, at: now)
            else { continue }
            lowest = limit.limit
            switch limit.how {
            case .refuse: room = .refused(fault: index)
            case .hang: room = .waiting(fault: index)
            }
        }
        return room
    }

    /// The first fault of a kind that is on at `now` whatever the connection, and when that may change.
    func standing(at now: Moment, _ isMeant: (Fault) -> Bool) -> (fault: Int?, until: Moment) {
        let stretch = schedule.stretch(at: now)
        var until = Moment.distantFuture
        var standing: Int?
        for (index, fault) in faults.enumerated() where isMeant(fault) && struck.allow(index) {
            let window = window(of: index)
            until = min(until, window.nextChange(after: now, opened: now, stretchEnd: stretch.end))
            if window.contains(at: now, age: 0, currentPhase: stretch.phase) { standing = standing ?? index }
        }
        return (standing, until)
    }

    /// Whether a fault is one that `admission` or `room` tells of.
    func standsForEverybody(_ fault: Fault) -> Bool {
        refusesEverybody(fault) || hangsEverybody(fault) || isLimit(fault)
    }

    private func hangsEverybody(_ fault: Fault) -> Bool {
        guard case .connect(let connect) = fault.kind, connect.how == .hang else { return false }
        return fault.condition.isForEverybody
    }

    private func isLimit(_ fault: Fault) -> Bool {
        if case .connectionLimit = fault.kind { true } else { false }
    }

    private func isOn(_ index: Int, at now: Moment) -> Bool {
        let phase = schedule.stretch(at: now).phase
        return struck.allow(index) && window(of: index).contains(at: now, age: 0, currentPhase: phase)
    }
}
