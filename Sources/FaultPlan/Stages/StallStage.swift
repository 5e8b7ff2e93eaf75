import FaultProfile
import Units

/// Passes bytes up to an offset and holds the next one, or the end of the stream, for a time.
///
/// The stall begins when everything before the offset has left (`StageContext.settled`) and more bytes wait, so a slow
/// receiver can't hide it and a delay line doesn't lengthen it.
struct StallStage: FaultStage {
    private enum State {
        case waiting
        case stalling(until: Moment)
        case over
    }

    private let duration: Int64
    private var offset: Int64
    private var state: State
    /// The positions in messages, if the offset counts in messages; the first is at `offset`.
    private var targets: TargetList?

    init(_ stall: Stall, in place: StagePlace) {
        duration = stall.duration.nanoseconds
        offset = stall.at.bytes
        switch stall.base {
        case .connection, .wire:
            state = .waiting
        case .message, .body, .resource:
            state = .over
            offset = -1
            targets = TargetList(MessageAim(stall.base, .at(stall.at.bytes), .gap, place.filter))
        }
    }

    var traits: StageTraits { StageTraits(measuresAvailability: true) }

    var rememberedPositions: Int { targets?.count ?? 0 }

    mutating func note(_ mark: Mark) { targets?.note(mark) }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        while true {
            takeAim(context)
            switch state {
            case .over:
                return progress
            case .waiting:
                guard context.isActive, progress.availableEnd > offset else { return progress }
                guard context.passed <= offset else {
                    state = .over
                    continue
                }
                if context.settled >= offset {
                    let end = context.now.advanced(byNanoseconds: duration)
                    state = .stalling(until: end)
                    context.effect = .stalls
                    context.effectOffset = offset
                    context.effectPlace = targets?.first
                    context.wake(at: end)
                }
            case .stalling(let end):
                guard context.isActive, context.now < end else {
                    // The rest may contain the next message's position.
                    state = .over
                    continue
                }
                context.wake(at: end)
            }
            return progress.clamped(to: offset)
        }
    }

    /// Goes on to the next message's position when the current one is done.
    private mutating func takeAim(_ context: StageContext) {
        guard targets != nil else { return }
        switch state {
        case .stalling:
            return
        case .over where targets?.first?.position == offset:
            targets?.removeFirst()
        case .waiting where targets?.first?.position != offset || context.passed > offset:
            // The message ended before the position, or passed while the fault was off.
            state = .over
        case .over, .waiting:
            break
        }
        guard case .over = state else { return }
        targets?.pass(context.passed)
        guard let next = targets?.first else {
            offset = -1
            return
        }
        offset = next.position
        state = .waiting
    }
}

extension Stall: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.stall, .stall(Box(StallStage(self, in: place))))
    }
}
