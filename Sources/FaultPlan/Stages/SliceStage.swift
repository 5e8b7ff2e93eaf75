import FaultProfile
import Units

/// Writes bytes in slices: no write spans two slices, and a pause follows each.
///
/// The end of a slice depends on its start alone; the first starts where the fault came on. The pause counts from the time
/// at which the last byte of a slice passed. The end of the stream waits for no pause.
struct SliceStage: FaultStage {
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
    /// Whether nothing is written, so that only pauses matter.
    private var isSimplified = false

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

    /// See `Link.simplify`.
    mutating func simplify() { isSimplified = true }

    /// A late call would prolong a pause.
    var latenessAllowance: Int64 { pauses ? 0 : .max }

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
        }
        if isSimplified, !pauses { return progress }
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
