import FaultProfile
import TerminalDisplay
import Units

/// How good the network is in a phase, for its color and its words.
enum PhaseTone: Hashable {
    /// Among the best of the profile; `isSecond` tells two neighbours apart.
    case good(isSecond: Bool)
    /// Slow or lossy beside the best.
    case poor
    /// An outage.
    case gone(Outage.Mode)

    /// The color of the phase.
    var color: TerminalColor {
        switch self {
        case .good(let isSecond): isSecond ? .cyan : .green
        case .poor: .yellow
        case .gone: .red
        }
    }
}

/// A phase as it ran: what it is, and when it began on the clock of the transfer.
struct PhaseSpan: Hashable {
    var name: String
    var begin: Duration
    var tone: PhaseTone

    /// A phase is poor with less than this part of the highest rate of all phases.
    private static let poorShare: Int64 = 4

    /// The tone of each phase of `profile`, in order.
    static func tones(of profile: Profile) -> [PhaseTone] {
        let rates = profile.phases.map { phase in phase.faults.compactMap(\.steadyRate).min() }
        let highest = rates.compactMap { $0 }.max()
        var isSecond = true
        return zip(profile.phases, rates).map { phase, rate in
            if let outage = phase.faults.lazy.compactMap(\.outage).first { return .gone(outage) }
            let isSlow = rate.map { $0 < (highest ?? $0) / poorShare } ?? false
            if isSlow || phase.faults.contains(where: \.isLoss) { return .poor }
            isSecond.toggle()
            return .good(isSecond: isSecond)
        }
    }
}

extension Fault {
    /// The rate of an unconditional limit in bits per second.
    fileprivate var steadyRate: Int64? {
        guard condition == Condition(), case .bandwidth(let bandwidth) = kind else { return nil }
        return bandwidth.rate.bitsPerSecond
    }

    /// How an unconditional outage acts.
    fileprivate var outage: Outage.Mode? {
        guard condition == Condition(), case .outage(let outage) = kind else { return nil }
        return outage.how
    }

    fileprivate var isLoss: Bool {
        if case .loss = kind { true } else { false }
    }
}
