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

extension NetworkTimeline {
    /// The intervals in which segments that follow each other have the same value; those without one are left out.
    func intervals<Value: Equatable>(of value: (Segment) -> Value?) -> [(value: Value, begin: Moment, end: Moment)] {
        segments.reduce(into: []) { intervals, segment in
            guard let value = value(segment) else { return }
            if let last = intervals.last, last.value == value, last.end == segment.begin {
                intervals[intervals.count - 1].end = segment.end
            } else {
                intervals.append((value, segment.begin, segment.end))
            }
        }
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
