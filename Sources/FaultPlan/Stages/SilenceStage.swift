import Units

/// An outage by silence: from the moment it comes on nothing leaves the link, and all of it goes on
/// when it is off again. Always the last stage, so that nothing in flight slips out.
struct SilenceStage {
    private var announced = false

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        guard visit.isActive else {
            announced = false
            return reach
        }
        if !announced, reach.horizon > visit.delivered {
            announced = true
            visit.effect = .silences
        }
        var passing = reach
        passing.clamp(to: visit.delivered)
        return passing
    }
}
