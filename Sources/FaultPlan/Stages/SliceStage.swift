import FaultProfile
import Units

/// Hands bytes over in slices: no write has bytes of two of them, and behind each there is a pause.
///
/// Where a slice ends depends on where it begins, and nothing else: the first begins where the fault came
/// on, which is the start of the stream if it is always on. The pause is counted from the moment at which
/// the last byte of a slice passed. The end of a stream is no byte and waits for no pause.
struct SliceStage: FaultStage {
    /// The pauses that a simplified stage makes up for at a time: 64.
    private static let missedLimit: Int64 = 64

    private let lowest: Int64
    private let span: UInt64
    private let pause: Int64
    private let key: RandomKey
    private var isOn = false
    private var announcement = Announcement()
    /// The slice that is to pass next, or is passing.
    private var start: Int64 = 0
    private var end: Int64 = 0
    private var pausedUntil: Int64 = .min
    /// Where the slice that is written next, or is being written, ends.
    private var writeEnd: Int64 = 0
    /// Whether nobody writes, and whoever comes late finds what would have passed in time.
    private var isSimplified = false
    /// When it was asked before `askedAt`, and when it was asked last.
    private var askedBefore: Int64 = .min
    private var askedAt: Int64 = .min
    /// The draws of a simplified stage.
    private var draws = 0

    init(_ slice: Slice, key: RandomKey) {
        let spread = min(slice.spread.bytes, slice.size.bytes - 1)
        lowest = slice.size.bytes - spread
        span = 2 * spread.magnitude + 1
        pause = slice.pause.nanoseconds
        self.key = key
    }

    /// Whether there is a pause behind a slice; without one bytes pass at once, and only their writes are bounded.
    var pauses: Bool { pause > 0 }

    var traits: StageTraits { StageTraits(onlyBoundsWrites: !pauses) }

    /// See `Link.simplify`. Beside a rate, the time that a slice takes comes to each pause, so it has to be asked in time.
    mutating func simplify(isBesideRate: Bool) { isSimplified = !(pauses && isBesideRate) }

    /// A simplified stage makes up for as many pauses as it counts in no time, and for no longer than a rate does.
    var latenessAllowance: Int64 {
        guard pauses else { return .max }
        guard isSimplified else { return 0 }
        return Self.missedLimit * min(pause, BandwidthStage.latenessAllowance / Self.missedLimit)
    }

    /// What a simplified stage has worked out so far, see `Link.work`: a draw is a small part of an answer.
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
        }
        if isSimplified { return advanceLate(progress, &context) }
        while writeEnd <= context.delivered { writeEnd = writeEnd.addingSaturated(length(at: writeEnd)) }
        // Of a message that ends within a slice, the slice ends with it.
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
        var passing = progress
        passing.clamp(to: limit)
        return passing
    }

    /// The same where nobody writes: the slices pass together that would have passed since the last time.
    private mutating func advanceLate(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        if !pauses { return progress }
        let now = context.now.nanoseconds
        if now > askedAt { (askedBefore, askedAt) = (askedAt, now) }
        let earliest = max(askedBefore, now.subtractingSaturated(latenessAllowance))
        while now >= pausedUntil, progress.bytes >= end {
            pausedUntil = max(pausedUntil, earliest).addingSaturated(pause)
            start = end
            end = start.addingSaturated(length(at: start))
            draws += 1
        }
        var limit = start
        var due = pausedUntil
        while now >= due, limit < progress.bytesAtAvailableEnd {
            limit = limit.addingSaturated(length(at: limit))
            due = max(due, earliest).addingSaturated(pause)
            draws += 1
        }
        if progress.bytesAtAvailableEnd <= limit { return progress }
        if now < pausedUntil { context.wake(at: Moment(nanoseconds: pausedUntil)) }
        var passing = progress
        passing.clamp(to: limit)
        return passing
    }

    /// The bytes of the slice that begins at `position`: a product of 64 × 64 bits spreads the draw evenly
    /// over the span, both ends included.
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
