import FaultProfile
import Units

/// Ends the stream after an exact number of bytes.
struct CutStage: FaultStage {
    /// Where the stream ends.
    private enum Target {
        case at(Int64)
        /// At the next multiple after the point at which the fault came on.
        case everyMultiple(of: Int64)
        /// At positions in messages.
        case inMessages
        /// After the first pattern found while the fault is on.
        case pattern
    }

    private enum State {
        case off
        case armed(Int64)
        /// The fault came on after its offset had passed.
        case missed
        case done(Int64, MessageAim.Target?)
    }

    private let target: Target
    private let fault: Int
    /// The positions in messages, if the offsets count in messages.
    private var targets: TargetList?
    /// The end of the pattern, if found.
    private var found: Int64?
    private let how: Cut.Ending
    private var state = State.off

    /// Makes the cut for one link; `nil` if the connection has no turn in the list of offsets.
    init?(_ cut: Cut, in place: StagePlace) {
        how = cut.how
        fault = place.fault
        let rule: MessageAim.Rule
        switch cut.position {
        case .at(let offset):
            rule = .at(offset.bytes)
        case .inTurn(let offsets):
            guard let turn = place.turn, turn < offsets.count else { return nil }
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
        case (.connection, .between(let low, let high)): target = .at(place.key.draw(from: low, through: high))
        case (.message, _), (.body, _), (.resource, _):
            target = .inMessages
            targets = TargetList(MessageAim(cut.base, rule, .gap, place.filter))
        }
    }

    var rememberedPositions: Int { targets?.count ?? 0 }

    mutating func note(_ mark: Mark) {
        targets?.note(mark)
        if case .pattern(fault, let offset) = mark { found = found ?? offset }
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        switch state {
        case .done(let offset, let place):
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
            // A pattern that passes while the fault is off doesn't count.
            if !context.isActive, let found, found <= progress.bytes { self.found = nil }
            return advance(progress, to: found, nil, &context)
        }
    }

    /// Advances to a position found in the stream, if any.
    private mutating func advance(
        _ progress: StreamProgress,
        to position: Int64?,
        _ place: MessageAim.Target?,
        _ context: inout StageContext
    ) -> StreamProgress {
        guard context.isActive, let position else { return progress }
        if progress.bytes >= position {
            state = .done(position, place)
            return ended(at: position, place, &context)
        }
        var output = progress
        output.availableEnd = max(output.position, min(output.availableEnd, position))
        return output
    }

    private mutating func advanceToOffset(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        switch state {
        case .off:
            guard context.isActive else {
                if case .at(context.passed) = target { context.needsWindowWake = true }
                return progress
            }
            state = armed(at: context.passed)
        case .armed, .missed, .done:
            guard context.isActive else {
                state = .off
                return progress
            }
        }
        guard case .armed(let offset) = state else { return progress }
        if progress.bytes >= offset {
            state = .done(offset, nil)
            return ended(at: offset, nil, &context)
        }
        var output = progress
        output.availableEnd = max(output.position, min(output.availableEnd, offset))
        return output
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
        CutStage(self, in: place).map { (.end, .cut(Box($0))) }
    }

    var terminator: ConnectionTerminators.Cause? {
        switch position {
        case .after(let age): .age(age.nanoseconds, how)
        case .idle(let time): .idleness(time.nanoseconds, how)
        case .at, .inTurn, .every, .between, .pattern: nil
        }
    }
}
