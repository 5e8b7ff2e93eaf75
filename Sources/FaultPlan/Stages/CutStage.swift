import FaultProfile
import Units

/// Ends the stream after an exact number of bytes.
struct CutStage {
    /// Where the stream ends.
    private enum Target {
        case at(Int64)
        /// At the next multiple after the point at which the fault came on.
        case everyMultiple(of: Int64)
    }

    private enum State {
        case off
        case armed(Int64)
        /// The fault came on after its offset had passed.
        case missed
        case struck(Int64)
    }

    private let target: Target
    private let how: Cut.Ending
    private var state = State.off

    /// A cut for one link. `turn` counts the connections that the fault has met, from 0; returns
    /// `nil` when this connection has no turn in a list of offsets.
    init?(_ cut: Cut, key: RandomKey, turn: Int) {
        how = cut.how
        switch cut.position {
        case .at(let offset):
            target = .at(offset.bytes)
        case .inTurn(let offsets):
            guard turn < offsets.count else { return nil }
            target = .at(offsets[turn].bytes)
        case .every(let step):
            target = .everyMultiple(of: step.bytes)
        case .between(let low, let high):
            target = .at(key.draw(from: low.bytes, through: high.bytes))
        case .after, .idle:
            // Time ends a connection as a whole: see `Interruptions`.
            return nil
        }
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        switch state {
        case .struck(let offset):
            return ended(at: offset, &visit)
        case .off:
            guard visit.isActive else {
                if case .at(visit.passed) = target { visit.awaitsWindow = true }
                return reach
            }
            state = armed(at: visit.passed)
        case .armed, .missed:
            guard visit.isActive else {
                state = .off
                return reach
            }
        }
        guard case .armed(let offset) = state else { return reach }
        if reach.bytes >= offset {
            state = .struck(offset)
            return ended(at: offset, &visit)
        }
        var passing = reach
        passing.horizon = max(passing.position, min(passing.horizon, offset))
        return passing
    }

    private func armed(at passed: Int64) -> State {
        switch target {
        case .at(let offset): passed > offset ? .missed : .armed(offset)
        case .everyMultiple(let step): .armed((passed / step + 1).multipliedSaturated(by: step))
        }
    }

    private func ended(at offset: Int64, _ visit: inout Visit) -> Reach {
        visit.cut = (offset, how)
        return Reach(position: offset + 1, horizon: offset + 1, hasEnded: true)
    }
}

extension Int64 {
    fileprivate func multipliedSaturated(by factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max - 1 : product
    }
}
