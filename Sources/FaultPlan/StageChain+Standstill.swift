import Units

/// A link in front of a delay that has fallen.
///
/// Bytes that came later would overtake those that the delay still holds; instead they would all leave with the last of
/// them, faster than any rate in front of the delay. So the link stands still until they have left: bytes wait where their
/// sender is, and then pass at the rate of the link (docs/decisions/0004-stage-order.md).
extension StageChain {
    func time(at now: Moment) -> LinkTime {
        LinkTime(
            age: now.nanoseconds.subtractingSaturated(opened.nanoseconds),
            clock: schedule.clock.moment(at: now).nanoseconds.subtractingSaturated(schedule.start.nanoseconds)
        )
    }

    /// Until when nothing may enter the link, or when to look again; `nil` if bytes may enter.
    mutating func standstill(at now: Moment, _ time: LinkTime) -> Moment? {
        var latest: Moment?
        for index in slots.indices where slots[index].mayFall {
            let isActive = slots[index].isOn(at: now, time, phase: interval.phase)
            guard let moment = slots[index].stage.standstill(at: now, time, isActive: isActive) else { continue }
            latest = max(latest ?? moment, moment)
        }
        return latest
    }
}
