import Units

/// An outage by silence: from the moment it comes on nothing enters the link and nothing leaves it;
/// what is in flight is held, and all of it goes on when the outage is over.
///
/// It closes both ends of the link: here the near one, so that no rate is used up meanwhile and no
/// backlog builds up to burst out afterwards; and through `Visit.isSilent` the far one.
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
        visit.isSilent = true
        var passing = reach
        passing.horizon = reach.position
        return passing
    }
}
