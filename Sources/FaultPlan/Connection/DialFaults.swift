import FaultProfile
import Units

/// The faults that concern the beginning of one connection.
struct DialFaults {
    /// The longest delay before the server is dialed.
    private(set) var delay: ConnectDelay?
    /// The faults that leave the connection to the kernel.
    private(set) var hangs: [DialHold.Hang] = []
    /// The faults that end it at once.
    private(set) var endings: [ConnectionTerminators.Source] = []
    /// The faults of its TLS.
    var handshake = HandshakeFaults()

    /// Leaves the connection to the kernel.
    mutating func add(_ hang: DialHold.Hang) { hangs.append(hang) }

    mutating func end(_ ending: Cut.Ending, by fault: Int) {
        endings.append(ConnectionTerminators.Source(fault: fault, window: .always, cause: .dial(ending)))
    }

    /// Adds a delay, if there is one.
    mutating func add(_ other: ConnectDelay?) {
        guard let other else { return }
        if delay.map({ $0.duration < other.duration }) ?? true { delay = other }
    }
}

extension Connect: PlannedFault {
    func addDialFaults(to dial: inout DialFaults, in place: DialContext) {
        switch how {
        case .delay(let time, let jitter):
            let deviation = Double(jitter.nanoseconds) * (2 * place.key.adding("connect").fraction(at: 0) - 1)
            let drawn = time.nanoseconds.addingSaturated(Int64(deviation))
            if drawn > 0 { dial.add(ConnectDelay(fault: place.fault, duration: .nanoseconds(drawn))) }
        case .hang:
            dial.add(DialHold.Hang(fault: place.fault, window: place.window))
        case .refuse:
            dial.end(.reset, by: place.fault)
        case .close:
            dial.end(.close, by: place.fault)
        }
    }

    func gateRole(isForEverybody: Bool) -> AdmissionFault.Role? {
        switch how {
        case .refuse where isForEverybody: .refuses
        case .hang where isForEverybody: .leavesUnanswered
        case .delay, .hang, .refuse, .close: nil
        }
    }
}
