import FaultProfile
import Units

/// A phase of the profile in the list below a drawing.
package struct PlanPhase: Hashable, Sendable {
    /// The number that stands for it where its name has no room: "1", "2" and so on.
    package var key: String
    package var name: String
    /// "3 s: 80 Mbit/s; 4 ms ± 2 ms".
    package var text: String
}

/// The time in which a phase runs once.
package struct PlanPhaseRun: Hashable, Sendable {
    /// The index of the phase.
    package var phase: Int
    package var begin: Moment
    package var end: Moment
}

/// The time of an outage.
package struct PlanOutage: Hashable, Sendable {
    package var mode: Outage.Mode
    package var begin: Moment
    package var end: Moment
}

extension PlanPhaseRun {
    /// The runs of phases in the segments of a timeline, which may divide a phase.
    static func all(of timeline: NetworkTimeline) -> [PlanPhaseRun] {
        var runs: [PlanPhaseRun] = []
        for segment in timeline.segments {
            guard let phase = segment.phase else { continue }
            if let last = runs.last, last.phase == phase, last.end == segment.begin {
                runs[runs.count - 1].end = segment.end
            } else {
                runs.append(PlanPhaseRun(phase: phase, begin: segment.begin, end: segment.end))
            }
        }
        return runs
    }
}

extension PlanOutage {
    /// The outages in the segments of a timeline.
    static func all(of timeline: NetworkTimeline) -> [PlanOutage] {
        var outages: [PlanOutage] = []
        for segment in timeline.segments {
            guard let mode = segment.conditions.outage else { continue }
            if let last = outages.last, last.mode == mode, last.end == segment.begin {
                outages[outages.count - 1].end = segment.end
            } else {
                outages.append(PlanOutage(mode: mode, begin: segment.begin, end: segment.end))
            }
        }
        return outages
    }
}

extension NetworkConditions {
    /// "80 Mbit/s; 4 ms ± 2 ms", "outage by refuse", "no fault".
    var sentence: String {
        var parts: [String] = []
        if let outage { parts.append("outage by \(outage.rawValue)") }
        if let rate { parts.append(rate.text) }
        if delay > .zero || jitter > .zero {
            parts.append(delay.text + (jitter > .zero ? " ± \(jitter.text)" : ""))
        }
        parts += others
        return parts.isEmpty ? "no fault" : parts.joined(separator: "; ")
    }
}
