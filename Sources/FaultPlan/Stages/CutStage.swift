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
            // Time ends a connection as a whole: see `ConnectionTerminators`.
            return nil
        }
        switch (cut.base, rule) {
        case (.connection, .at(let offset)): target = .at(offset)
        case (.connection, .every(let step)): target = .everyMultiple(of: step)
        case (.connection, .between(let low, let high)): target = .at(key.draw(from: low, through: high))
        case (.message, _), (.body, _), (.resource, _):
            target = .inMessages
            targets = TargetList(MessageAim(cut.base, rule, .gap, filter))
        }
    }

    var rememberedPositions: Int { targets?.count ?? 0 }

    mutating func note(_ mark: Mark) {
        targets?.note(mark)
        if case .pattern(fault, let offset) = mark { found = found ?? offset }
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        switch state {
        case .struck(let offset, let place):
            return ended(at: offset, place, &context)
        case .off, .armed, .missed:
            break
        }
        switch target {
        case .at, .everyMultiple: return advanceToOffset(progress, &context)
        case .inMessages:
            targets?.pass(context.passed)
            return advance(progress, to: targets?.first?.position, targets?.first, &context)
        case .pattern:
            // One that passes while the fault is off doesn't count.
            if !context.isActive, let found, found <= progress.bytes { self.found = nil }
            return advance(progress, to: found, nil, &context)
        }
    }

    /// Goes on to a position that was found in the stream, if one was.
    private mutating func advance(
        _ progress: StreamProgress,
        to position: Int64?,
        _ place: MessageAim.Target?,
        _ context: inout StageContext
    ) -> StreamProgress {
        guard context.isActive, let position else { return progress }
        if progress.bytes >= position {
            state = .struck(position, place)
            return ended(at: position, place, &context)
        }
        var passing = progress
        passing.availableEnd = max(passing.position, min(passing.availableEnd, position))
        return passing
    }

    private mutating func advanceToOffset(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        switch state {
        case .off:
            guard context.isActive else {
                if case .at(context.passed) = target { context.needsWindowWake = true }
                return progress
            }
            state = armed(at: context.passed)
        case .armed, .missed, .struck:
            guard context.isActive else {
                state = .off
                return progress
            }
        }
        guard case .armed(let offset) = state else { return progress }
        if progress.bytes >= offset {
            state = .struck(offset, nil)
            return ended(at: offset, nil, &context)
        }
        var passing = progress
        passing.availableEnd = max(passing.position, min(passing.availableEnd, offset))
        return passing
    }

    private func armed(at passed: Int64) -> State {
        switch target {
        case .at(let offset): passed > offset ? .missed : .armed(offset)
        case .everyMultiple(let step): .armed((passed / step + 1).multipliedSaturated(by: step))
        case .inMessages, .pattern: .missed
        }
    }

    private func ended(at offset: Int64, _ place: MessageAim.Target?, _ context: inout StageContext) -> StreamProgress {
        context.cut = (offset, how)
        context.effectPlace = place
        return StreamProgress(position: offset + 1, availableEnd: offset + 1, hasEnded: true)
    }
}

extension Cut: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        CutStage(self, fault: place.fault, filter: place.filter, key: place.key, turn: place.turn)
            .map { (.end, .cut(Box($0))) }
    }

    var terminator: ConnectionTerminators.Cause? {
        switch position {
        case .after(let age): .age(age.nanoseconds, how)
        case .idle(let time): .idleness(time.nanoseconds, how)
        case .at, .inTurn, .every, .between, .pattern: nil
        }
    }
}
