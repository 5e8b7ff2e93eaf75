import FaultProfile
import Units

/// Lets the bytes up to an offset pass and makes the next one, or the end of the stream, wait.
///
/// The wait begins when everything before the offset is on its way (`Visit.settled`) and something
/// more wants to pass, so a slow receiver can't hide it and a delay line behind it doesn't lengthen it.
struct StallStage {
    private enum State {
        case waiting
        case stalling(until: Moment)
        case over
    }

    private let offset: Int64
    private let duration: Int64
    private var state = State.waiting

    init(_ stall: Stall) {
        offset = stall.at.bytes
        duration = stall.duration.nanoseconds
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        switch state {
        case .over:
            return reach
        case .waiting:
            guard visit.isActive, reach.horizon > offset else { return reach }
            guard visit.passed <= offset else {
                state = .over
                return reach
            }
            if visit.settled >= offset {
                let end = visit.now.advanced(byNanoseconds: duration)
                state = .stalling(until: end)
                visit.effect = .stalls
                visit.effectOffset = offset
                visit.wake(at: end)
            }
        case .stalling(let end):
            guard visit.isActive, visit.now < end else {
                state = .over
                return reach
            }
            visit.wake(at: end)
        }
        var passing = reach
        passing.clamp(to: offset)
        return passing
    }
}
