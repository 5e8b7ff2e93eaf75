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
        /// After this many bytes from the point at which the fault came on.
        case limit(Int64)
        /// At that point, this many nanoseconds after something wants to pass it.
        case traffic(Int64)
    }

    private enum State {
        case off
        case armed(Int64)
        /// The fault came on after its offset had passed.
        case missed
        /// Nothing has wanted to pass the offset.
        case untouched(Int64)
        /// Something waits at the offset, where the stream ends at a time.
        case holding(Int64, until: Moment)
        case done(Int64, MessageAim.Target?)
    }

    private let target: Target
    private let fault: Int
    /// The positions in messages, if the offsets count in messages.
    private var targets: TargetList?
    /// The end of the pattern, if found.
    private var found: Int64?
    private let ending: Ending
    private var state = State.off
    /// Where the bytes of a limit are counted from.
    private var start: Int64?

    /// Makes the cut for one link; `nil` if the connection has no turn in the list of offsets.
    init?(_ cut: Cut, in place: StagePlace) {
        ending = .cut(cut.how)
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
        case .limit(let limit):
            target = .limit(limit.bytes)
            return
        case .traffic(let time):
            target = .traffic(time.nanoseconds)
            return
        case .after, .idle:
            // Time ends a connection as a whole: see `ConnectionTerminators`.
            return nil
        }
        switch (cut.base, rule) {
        case (.connection, .at(let offset)), (.wire, .at(let offset)): target = .at(offset)
        case (.connection, .every(let step)), (.wire, .every(let step)): target = .everyMultiple(of: step)
        case (.connection, .between(let low, let high)), (.wire, .between(let low, let high)):
            target = .at(place.key.draw(from: low, through: high))
        case (.message, _), (.body, _), (.resource, _):
            target = .inMessages
            targets = TargetList(MessageAim(cut.base, rule, .gap, place.filter))
        }
    }

    /// Makes the end by an alert of TLS.
    init(_ alert: TLSAlertName, at offset: ByteCount, in place: StagePlace) {
        (ending, fault, target) = (.alert(alert), place.fault, .at(offset.bytes))
    }

    // A byte must be there to be seen.
    var traits: StageTraits {
        switch target {
        case .limit(let limit): StageTraits(measuresAvailability: limit == 0)
        case .traffic: StageTraits(measuresAvailability: true)
        case .at, .everyMultiple, .inMessages, .pattern: StageTraits()
        }
    }

    var rememberedPositions: Int { targets?.count ?? 0 }

    /// Counts on from where `last` began, which this one replaces, if both are limits.
    mutating func continueCount(of last: CutStage) {
        if case .limit = target { start = last.start }
    }

    mutating func note(_ mark: Mark) {
        targets?.note(mark)
        if case .pattern(fault, let offset) = mark { found = found ?? offset }
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        switch state {
        case .done(let offset, let place):
            return ended(at: offset, place, &context)
        case .off, .armed, .missed, .untouched, .holding:
            break
        }
        switch target {
        case .at, .everyMultiple:
            return advanceToOffset(progress, &context)
        case .limit, .traffic:
            // They count from where the fault comes on, whether or not bytes wait then.
            context.needsWindowWake = true
            return advanceToOffset(progress, &context)
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
        return progress.clamped(to: position)
    }

    private mutating func advanceToOffset(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        switch state {
        case .off:
            guard context.isActive else {
                if case .at(context.passed) = target { context.needsWindowWake = true }
                start = nil
                return progress
            }
            state = armed(at: context.passed)
        case .armed, .missed, .untouched, .holding, .done:
            guard context.isActive else {
                state = .off
                start = nil
                return progress
            }
        }
        if case .untouched(let offset) = state, progress.availableEnd > offset {
            state = .holding(offset, until: context.now.advanced(byNanoseconds: grace))
        }
        switch state {
        case .off, .missed, .untouched:
            return progress
        case .armed(let offset):
            return progress.bytes >= offset ? end(at: offset, &context) : progress.clamped(to: offset)
        case .holding(let offset, let due):
            if context.now >= due { return end(at: offset, &context) }
            context.wake(at: due)
            return progress.clamped(to: offset)
        case .done(let offset, let place):
            return ended(at: offset, place, &context)
        }
    }

    private mutating func end(at offset: Int64, _ context: inout StageContext) -> StreamProgress {
        state = .done(offset, nil)
        return ended(at: offset, nil, &context)
    }

    /// The time between the first traffic and the end, in nanoseconds.
    private var grace: Int64 { if case .traffic(let time) = target { time } else { 0 } }

    private mutating func armed(at passed: Int64) -> State {
        switch target {
        case .limit(let limit):
            let start = start ?? passed
            self.start = start
            // A limit that the count has passed already ends the stream here.
            return limit == 0 && passed == start ? .untouched(start) : .armed(max(start.addingSaturated(limit), passed))
        case .traffic:
            return .untouched(passed)
        case .at(let offset):
            return passed > offset ? .missed : .armed(offset)
        case .everyMultiple(let step):
            return .armed((passed / step + 1).multipliedSaturated(by: step))
        case .inMessages, .pattern:
            return .missed
        }
    }

    private func ended(at offset: Int64, _ place: MessageAim.Target?, _ context: inout StageContext) -> StreamProgress {
        context.cut = (offset, ending)
        if case .traffic = target { context.hasOffset = false }
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
        case .at, .inTurn, .every, .between, .pattern, .limit, .traffic: nil
        }
    }
}
