import FaultPlan
import Units

/// Finds the phases that have begun since the last question, so that a short one between two questions isn't missed.
package struct PhaseFollower {
    /// The most phases of one answer; after a longer gap only the present one is told.
    static let limit = 64

    private var schedule: Schedule?
    /// The interval of the last question.
    private(set) var current: Schedule.Interval?

    /// A follower that has seen no schedule yet.
    package init() {}

    /// The intervals of phases that began since the last call, the present one last. The first call, and the first one
    /// with another schedule, returns the present one only.
    package mutating func advance(_ schedule: Schedule, to now: Moment) -> [Schedule.Interval] {
        let present = schedule.interval(at: now)
        let last = schedule == self.schedule ? current : nil
        (self.schedule, current) = (schedule, present)
        guard let last else { return [present].filter { $0.phase != nil } }
        guard present.begin > last.begin else {
            current = last
            return []
        }
        var begun: [Schedule.Interval] = []
        var end = last.end
        while begun.count < Self.limit, end < present.begin {
            let interval = schedule.interval(at: end)
            begun.append(interval)
            end = max(interval.end, end.advanced(byNanoseconds: 1))
        }
        if end < present.begin { begun = [] }
        return (begun + [present]).filter { $0.phase != nil }
    }
}
