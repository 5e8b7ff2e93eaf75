import FaultPlan
import FaultProfile
import Units

/// The fault that came closest to acting in a run in which none did.
struct NearestMiss {
    /// A bound that a run didn't reach: which share of it, from 0 to 1, and both as a sentence.
    private typealias Candidate = (share: Double, text: String)

    private let profile: Profile
    private let seed: UInt64
    private let figures: Measurements.Proxy
    private let time: Duration

    /// Looks at the run of one proxy, which took `time`.
    init(_ profile: Profile, seed: UInt64, figures: Measurements.Proxy, time: Duration) {
        (self.profile, self.seed, self.figures, self.time) = (profile, seed, figures, time)
    }

    /// "cut acts at 64 KiB, the run moved 39.3 KiB"; `nil` where no fault has a bound that the run could have reached.
    var text: String? {
        if let reason = figures.unreadStreams.first { return reason.sentence }
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: .zero, seed: seed)
        var nearest: Candidate?
        func note(_ candidate: Candidate?) {
            if let candidate, candidate.share > nearest?.share ?? -1 { nearest = candidate }
        }
        for fault in profile.faults { note(candidate(fault)) }
        for (index, phase) in profile.phases.enumerated() where !phase.faults.isEmpty {
            guard let begin = schedule.begin(ofPhase: index) else { continue }
            if begin >= time {
                note(late("\(phase.name) begins at \(ReportText.time(begin))", begin))
            } else {
                for fault in phase.faults { note(candidate(fault)) }
            }
        }
        return nearest?.text
    }

    private func candidate(_ fault: Fault) -> Candidate? {
        if case .range(let range) = fault.condition.connections, range.lowerBound > UInt64(figures.connections) {
            let made = ReportText.count(Int(figures.connections), "connection")
            let share = Double(figures.connections) / Double(range.lowerBound)
            return (share, "\(fault.name) acts on connection \(range.lowerBound), the run made \(made)")
        }
        if let age = fault.firstAge, age >= time {
            return late("\(fault.name) acts on connections of \(age.text)", age)
        }
        guard let offset = fault.kind.firstOffset else { return nil }
        let moved =
            switch fault.stream {
            case .upstream: figures.upstream
            case .downstream: figures.downstream
            case .both: max(figures.upstream, figures.downstream)
            }
        let bound = "\(fault.name) acts at \(Formatting.size(offset.bytes))"
        // The offset counts in a connection or a message, and only the bytes of all are known.
        guard moved < offset.bytes else {
            return (1, "\(bound) of each stream, the run moved \(Formatting.size(moved)) in all")
        }
        return (Double(moved) / Double(offset.bytes), "\(bound), the run moved \(Formatting.size(moved))")
    }

    private func late(_ bound: String, _ begin: Duration) -> Candidate {
        let share = Double(time.nanoseconds) / Double(max(1, begin.nanoseconds))
        return (min(1, share), "\(bound), the run took \(ReportText.time(time))")
    }
}

extension Fault {
    /// The age of a connection from which the fault may act; `nil` if it may from the start.
    fileprivate var firstAge: Duration? {
        if case .cut(let cut) = kind, case .after(let age) = cut.position { return max(age, condition.ageFrom) }
        return condition.ageFrom > .zero ? condition.ageFrom : nil
    }
}

extension FaultKind {
    /// The least offset at which the fault acts; `nil` if it acts at no offset, or at one that only the bytes decide.
    fileprivate var firstOffset: ByteCount? {
        switch self {
        case .cut(let cut):
            switch cut.position {
            case .at(let offset), .every(let offset), .between(let offset, _), .limit(let offset): offset
            case .inTurn(let offsets): offsets.first
            case .after, .idle, .pattern, .traffic: nil
            }
        case .corrupt(let corrupt):
            switch corrupt.position {
            case .at(let offset), .between(let offset, _): offset
            case .rate: nil
            }
        case .insert(let insert):
            switch insert.position {
            case .at(let offset): offset
            case .pattern: nil
            }
        case .stall(let stall): stall.at
        case .truncate(let truncate): truncate.at
        case .latency, .bandwidth, .outage, .trace, .slice, .slowReader, .loss, .http, .connect, .connectionLimit,
            .slowClose, .halfOpen, .discard, .tls:
            nil
        }
    }
}
