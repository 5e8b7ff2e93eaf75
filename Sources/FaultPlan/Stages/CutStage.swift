import FaultProfile
import Units

/// Ends the stream after an exact number of bytes.
struct CutStage: FaultStage {
    /// Where the stream ends.
    private enum Target {
        case at(Int64)
        /// At the next multiple after the point at which the fault came on.
        case everyMultiple(of: Int64)
        /// Where messages have it.
        case inMessages
        /// Behind the first pattern that is found while the fault is on.
        case pattern
    }

    private enum State {
        case off
        case armed(Int64)
        /// The fault came on after its offset had passed.
        case missed
        case struck(Int64, MessageAim.Target?)
    }

    private let target: Target
    private let fault: Int
    /// The positions in messages, if the offsets count in messages.
    private var targets: TargetList?
    /// Where the pattern ended, if it was found.
    private var found: Int64?
    private let how: Cut.Ending
    private var state = State.off

    /// A cut for one link, the fault of index `fault`. `turn` counts the connections that the fault has met, from 0,
    /// and is `nil` for one that had begun before; returns `nil` when this connection has no turn in a list of offsets.
    init?(_ cut: Cut, fault: Int, filter: MessageFilter, key: RandomKey, turn: Int?) {
        how = cut.how
        self.fault = fault
        let rule: MessageAim.Rule
        switch cut.position {
        case .at(let offset):
            rule = .at(offset.bytes)
        case .inTurn(let offsets):
            guard let turn, turn < offsets.count else { return nil }
            rule = .at(offsets[turn].bytes)
        case .every(let step):
            rule = .every(step.bytes)
        case .between(let low, let high):
            rule = .between(low.bytes, high.bytes)
        case .pattern:
            target = .pattern
            return
        case .after, .idle:
            // Time ends a connection as a whole: see `Interruptions`.
            return nil
        }
        switch (cut.origin, rule) {
        case (.connection, .at(let offset)): target = .at(offset)
        case (.connection, .every(let step)): target = .everyMultiple(of: step)
        case (.connection, .between(let low, let high)): target = .at(key.draw(from: low, through: high))
        case (.message, _), (.body, _), (.resource, _):
            target = .inMessages
            targets = TargetList(MessageAim(cut.origin, rule, .gap, filter))
        }
    }

    var rememberedPositions: Int { targets?.count ?? 0 }

    mutating func note(_ mark: Mark) {
        targets?.note(mark)
        if case .pattern(fault, let offset) = mark { found = found ?? offset }
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        switch state {
        case .struck(let offset, let place):
            return ended(at: offset, place, &visit)
        case .off, .armed, .missed:
            break
        }
        switch target {
        case .at, .everyMultiple: return advanceToOffset(reach, &visit)
        case .inMessages:
            targets?.pass(visit.passed)
            return advance(reach, to: targets?.first?.position, targets?.first, &visit)
        case .pattern:
            // One that passes while the fault is off doesn't count.
            if !visit.isActive, let found, found <= reach.bytes { self.found = nil }
            return advance(reach, to: found, nil, &visit)
        }
    }

    /// Goes on to a position that was found in the stream, if one was.
    private mutating func advance(
        _ reach: Reach,
        to position: Int64?,
        _ place: MessageAim.Target?,
        _ visit: inout Visit
    ) -> Reach {
        guard visit.isActive, let position else { return reach }
        if reach.bytes >= position {
            state = .struck(position, place)
            return ended(at: position, place, &visit)
        }
        var passing = reach
        passing.horizon = max(passing.position, min(passing.horizon, position))
        return passing
    }

    private mutating func advanceToOffset(_ reach: Reach, _ visit: inout Visit) -> Reach {
        switch state {
        case .off:
            guard visit.isActive else {
                if case .at(visit.passed) = target { visit.awaitsWindow = true }
                return reach
            }
            state = armed(at: visit.passed)
        case .armed, .missed, .struck:
            guard visit.isActive else {
                state = .off
                return reach
            }
        }
        guard case .armed(let offset) = state else { return reach }
        if reach.bytes >= offset {
            state = .struck(offset, nil)
            return ended(at: offset, nil, &visit)
        }
        var passing = reach
        passing.horizon = max(passing.position, min(passing.horizon, offset))
        return passing
    }

    private func armed(at passed: Int64) -> State {
        switch target {
        case .at(let offset): passed > offset ? .missed : .armed(offset)
        case .everyMultiple(let step): .armed((passed / step + 1).multipliedSaturated(by: step))
        case .inMessages, .pattern: .missed
        }
    }

    private func ended(at offset: Int64, _ place: MessageAim.Target?, _ visit: inout Visit) -> Reach {
        visit.cut = (offset, how)
        visit.effectPlace = place
        return Reach(position: offset + 1, horizon: offset + 1, hasEnded: true)
    }
}

extension Cut: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        CutStage(self, fault: place.fault, filter: place.filter, key: place.key, turn: place.turn)
            .map { (.end, .cut(Box($0))) }
    }

    var interruption: Interruptions.Cause? {
        switch position {
        case .after(let age): .age(age.nanoseconds, how)
        case .idle(let time): .idleness(time.nanoseconds, how)
        case .at, .inTurn, .every, .between, .pattern: nil
        }
    }
}
