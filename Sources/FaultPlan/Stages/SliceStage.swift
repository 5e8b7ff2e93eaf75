import FaultProfile
import Units

/// Writes bytes in slices: no write spans two slices, and a pause follows each.
///
/// The end of a slice depends on its start alone; the first starts where the fault came on. The pause counts from the time
/// at which the last byte of a slice passed. The end of the stream waits for no pause.
struct SliceStage: FaultStage {
    /// The most pauses that a simplified stage catches up on: 64.
    private static let missedLimit: Int64 = 64

    private let lowest: Int64
    private let span: UInt64
    private let pause: Int64
    private let key: RandomKey
    private var isOn = false
    private var announcement = Announcement()
    /// The current slice.
    private var start: Int64 = 0
    private var end: Int64 = 0
    private var pausedUntil: Int64 = .min
    private var writeEnd: Int64 = 0
    /// Whether nothing is written, so that late calls catch up.
    private var isSimplified = false
    /// The times of the last two calls at different times. Both are the time at which the waiting bytes came if no call
    /// followed.
    private var askedBefore: Int64 = .min
    private var askedAt: Int64 = .min
    /// The end of the bytes at the last call, if all of them were let out.
    private var drainedEnd: Int64?
    private var draws = 0

    init(_ slice: Slice, key: RandomKey) {
        let spread = min(slice.spread.bytes, slice.size.bytes - 1)
        lowest = slice.size.bytes - spread
        span = 2 * spread.magnitude + 1
        pause = slice.pause.nanoseconds
        self.key = key
    }

    /// Whether slices are followed by a pause; without one only writes are bounded.
    var pauses: Bool { pause > 0 }

    var traits: StageTraits { StageTraits(onlyBoundsWrites: !pauses) }

    /// See `Link.simplify`. Another stage may hold the bytes of a slice, and a pause begins only when it lets them go.
    mutating func simplify(isAlone: Bool) { isSimplified = !pauses || isAlone }

    /// A simplified stage catches up on `missedLimit` pauses, and on no more time than a rate; elsewhere a late call would
    /// prolong a pause.
    var latenessAllowance: Int64 {
        guard pauses else { return .max }
        guard isSimplified else { return 0 }
        return Self.missedLimit * min(pause, BandwidthStage.latenessAllowance / Self.missedLimit)
    }

    /// The work so far, see `Link.work`: a draw is a fraction of an answer.
    var work: Int { draws / 4 }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard context.isActive else {
            isOn = false
            announcement.end(at: pauses ? context.passed : context.delivered)
            return progress
        }
        let wanted = progress.bytesAtAvailableEnd
        if !isOn {
            let position = pauses ? context.passed : context.delivered
            guard wanted > position else { return progress }
            isOn = true
            if announcement.begin(at: position) { context.effect = .slices }
            start = position
            end = start.addingSaturated(length(at: start))
            pausedUntil = .min
            writeEnd = start
            askedAt = context.now.nanoseconds
            askedBefore = askedAt
            drainedEnd = nil
        }
        if isSimplified { return advanceLate(progress, &context) }
        while writeEnd <= context.delivered { writeEnd = writeEnd.addingSaturated(length(at: writeEnd)) }
        // A slice ends with the message that it is in.
        context.limitWrites(to: min(writeEnd, progress.bytes))
        if !pauses { return progress }
        let now = context.now.nanoseconds
        if now >= pausedUntil, progress.bytes >= end {
            pausedUntil = now.addingSaturated(pause)
            start = end
            end = start.addingSaturated(length(at: start))
        }
        let limit = now < pausedUntil ? start : end
        if wanted <= limit { return progress }
        if now < pausedUntil { context.wake(at: Moment(nanoseconds: pausedUntil)) }
        return progress.clamped(to: limit)
    }

    /// Advances a simplified stage: passes all slices that are due since the last call, or since their bytes came.
    private mutating func advanceLate(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        if !pauses { return progress }
        let now = context.now.nanoseconds
        let wanted = progress.bytesAtAvailableEnd
        if let drainedEnd, wanted > drainedEnd {
            (askedBefore, askedAt) = (now, now)
        } else if now > askedAt {
            (askedBefore, askedAt) = (askedAt, now)
        }
        let earliest = max(askedBefore, now.subtractingSaturated(latenessAllowance))
        while now >= pausedUntil, progress.bytes >= end {
            pausedUntil = max(pausedUntil, earliest).addingSaturated(pause)
            start = end
            end = start.addingSaturated(length(at: start))
            draws += 1
        }
        var limit = start
        var due = pausedUntil
        while now >= due, limit < wanted {
            limit = limit.addingSaturated(length(at: limit))
            due = max(due, earliest).addingSaturated(pause)
            draws += 1
        }
        drainedEnd = wanted <= limit ? wanted : nil
        if drainedEnd != nil { return progress }
        if now < pausedUntil { context.wake(at: Moment(nanoseconds: pausedUntil)) }
        return progress.clamped(to: limit)
    }

    /// The length of the slice at `position`, drawn evenly from the span by a 64 × 64-bit product.
    private func length(at position: Int64) -> Int64 {
        let drawn = key.bits(at: position).multipliedFullWidth(by: span).high
        return lowest.addingSaturated(Int64(clamping: drawn))
    }
}

extension Slice: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.slice, .slice(Box(SliceStage(self, key: place.key))))
    }
}
