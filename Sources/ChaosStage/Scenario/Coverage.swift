import FaultPlan
import FaultProfile
import Units

/// The phases of a proxy's profile that a run met, and the faults of it that never acted.
///
/// A run meets a phase with faults when one of them acts, and a phase without when the run lasts until it begins.
package struct Coverage: Hashable, Sendable {
    /// A phase that a run didn't meet.
    package struct Missed: Hashable, Sendable {
        package var name: String
        /// When it begins for the first time; `nil` if it never does.
        package var begin: Duration?
    }

    /// The most names in a text: 8.
    static let nameLimit = 8

    package var proxy: String
    /// How long the run took.
    package var time: Duration
    package var phases: Int
    /// The phases that the run didn't meet, in the order of the profile.
    package var missed: [Missed]
    /// The faults that never acted, in the order of the profile: by the name of their phase where the run didn't meet that.
    package var never: [String]

    /// The coverage of a profile by a run.
    ///
    /// - Parameters:
    ///   - seed: the seed of the run, from which the lengths of phases are drawn.
    ///   - time: how long the run took.
    ///   - acted: the names of the faults that acted.
    package init(of profile: Profile, seed: UInt64, proxy: String, time: Duration, acted: Set<String>) {
        (self.proxy, self.time) = (proxy, time)
        phases = profile.phases.count
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: .zero, seed: seed)
        never = profile.faults.map(\.name).filter { !acted.contains($0) }
        missed = []
        for (index, phase) in profile.phases.enumerated() {
            let begin = schedule.begin(ofPhase: index)
            let silent = phase.faults.map(\.name).filter { !acted.contains($0) }
            let isMet = phase.faults.isEmpty ? begin.map { $0 < time } ?? false : silent.count < phase.faults.count
            if isMet {
                never += silent
            } else {
                missed.append(Missed(name: phase.name, begin: begin))
                if !phase.faults.isEmpty { never.append(phase.name) }
            }
        }
    }

    /// "met 1 of 5 phases; never: quick handover, slow handover"; `nil` for a profile without phases of which every fault
    /// acted.
    package var text: String? {
        var parts: [String] = []
        if phases > 0 { parts.append("met \(phases - missed.count) of \(ReportText.count(phases, "phase"))") }
        if !never.isEmpty { parts.append("never: \(Coverage.listed(never))") }
        return parts.isEmpty ? nil : parts.joined(separator: "; ")
    }

    /// Why the run fails where every phase has to be met, a sentence; `nil` if it met all.
    var failure: String? {
        guard !missed.isEmpty else { return nil }
        var text = "the run met \(phases - missed.count) of \(ReportText.count(phases, "phase")): "
        text += "not \(Coverage.listed(missed.map(\.name)))"
        if let late = missed.first(where: { $0.begin.map { $0 >= time } ?? false }), let begin = late.begin {
            text += " (\(late.name) begins at \(ReportText.time(begin)), the run took \(ReportText.time(time)))"
        }
        return text
    }

    /// Names with commas between them, `nameLimit` at most.
    private static func listed(_ names: [String]) -> String {
        let rest = names.count - nameLimit
        return names.prefix(nameLimit).joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
    }
}

extension RunReport {
    /// The coverage of each proxy's profile, a sentence each, with the proxy in front if there are several.
    package var coverageTexts: [String] {
        coverage.compactMap { part in
            part.text.map { coverage.count > 1 ? "\(part.proxy): \($0)" : $0 }
        }
    }

    /// Why faults of HTTP messages couldn't act on a stream, a sentence each, each once.
    package var unreadTexts: [String] {
        measurements.proxies.flatMap(\.unreadStreams).map(\.sentence).reduce(into: []) { texts, text in
            if !texts.contains(text) { texts.append(text) }
        }
    }

    /// What reports say of the coverage: both of these.
    var coverageLines: [String] { coverageTexts + unreadTexts }
}
