import FaultProfile
import Units

/// From a point on nothing passes any more, not even the end of the stream.
///
/// It differs from `SilenceStage` in that it never ends: once it has struck, no phase and no age switches it off.
struct HalfOpenStage: FaultStage {
    private enum State {
        case waiting
        /// The fault came on after its offset had passed.
        case missed
        case deaf(isTold: Bool)
    }

    private let point: HalfOpen.Point
    private var state = State.waiting

    init(_ halfOpen: HalfOpen) {
        point = halfOpen.point
    }

    var traits: StageTraits { StageTraits(measuresAvailability: true) }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        switch point {
        case .at(let offset): advance(reach, &visit, offset: offset.bytes)
        case .after(let age): advance(reach, &visit, age: age.nanoseconds)
        }
    }

    private mutating func advance(_ reach: Reach, _ visit: inout Visit, offset: Int64) -> Reach {
        switch state {
        case .missed:
            return reach
        case .waiting:
            guard visit.isActive else { return reach }
            guard visit.passed <= offset else {
                state = .missed
                return reach
            }
            if reach.horizon > offset {
                state = .deaf(isTold: true)
                visit.effect = .silences
                visit.effectOffset = offset
                visit.isDeaf = true
            }
        case .deaf:
            visit.isDeaf = true
        }
        var passing = reach
        passing.clamp(to: offset)
        return passing
    }

    private mutating func advance(_ reach: Reach, _ visit: inout Visit, age: Int64) -> Reach {
        switch state {
        case .missed:
            return reach
        case .waiting:
            guard visit.isActive, visit.age >= age else {
                // It has to be asked at its age, whether or not anything wants to pass.
                visit.awaitsWindow = true
                if visit.age < age { visit.wake(at: visit.now.advanced(byNanoseconds: age - visit.age)) }
                return reach
            }
            state = .deaf(isTold: false)
        case .deaf:
            break
        }
        visit.isDeaf = true
        visit.isSilent = true
        if case .deaf(isTold: false) = state, reach.horizon > visit.delivered {
            state = .deaf(isTold: true)
            visit.effect = .silences
        }
        var passing = reach
        passing.horizon = reach.position
        return passing
    }
}

extension HalfOpen: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? { (.silence, .halfOpen(HalfOpenStage(self))) }
}
