import FaultProfile
import Units

/// Blackholes a direction from a point on, including its end.
///
/// Unlike an outage it never ends: once it has acted, no phase or age switches it off.
struct HalfOpenStage: FaultStage {
    private enum State {
        case waiting
        /// The fault came on after its offset had passed.
        case missed
        case blackholed(isReported: Bool)
    }

    private let point: HalfOpen.Point
    private var state = State.waiting

    init(_ halfOpen: HalfOpen) {
        point = halfOpen.point
    }

    var traits: StageTraits { StageTraits(measuresAvailability: true) }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        switch point {
        case .at(let offset): advance(progress, &context, offset: offset.bytes)
        case .after(let age): advance(progress, &context, age: age.nanoseconds)
        }
    }

    private mutating func advance(_ progress: StreamProgress, _ context: inout StageContext, offset: Int64)
        -> StreamProgress
    {
        switch state {
        case .missed:
            return progress
        case .waiting:
            guard context.isActive else { return progress }
            guard context.passed <= offset else {
                state = .missed
                return progress
            }
            if progress.availableEnd > offset {
                state = .blackholed(isReported: true)
                context.effect = .silences
                context.effectOffset = offset
                context.isBlackholed = true
            }
        case .blackholed:
            context.isBlackholed = true
        }
        return progress.clamped(to: offset)
    }

    private mutating func advance(_ progress: StreamProgress, _ context: inout StageContext, age: Int64)
        -> StreamProgress
    {
        switch state {
        case .missed:
            return progress
        case .waiting:
            guard context.isActive, context.age >= age else {
                // It must be called at its age, whether or not bytes wait.
                context.needsWindowWake = true
                if context.age < age { context.wake(at: context.now.advanced(byNanoseconds: age - context.age)) }
                return progress
            }
            state = .blackholed(isReported: false)
        case .blackholed:
            break
        }
        context.isBlackholed = true
        context.isPaused = true
        if case .blackholed(isReported: false) = state, progress.availableEnd > context.delivered {
            state = .blackholed(isReported: true)
            context.effect = .silences
        }
        return progress.withNothingAvailable
    }
}

extension HalfOpen: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? { (.outage, .halfOpen(HalfOpenStage(self))) }
}
