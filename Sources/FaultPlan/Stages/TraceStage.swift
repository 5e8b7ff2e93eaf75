import FaultProfile
import Units

/// A recorded link: at each opportunity up to 1,500 bytes leave a bounded queue.
///
/// Opportunities are counted on the clock of the connection, and each passes the bytes present at its time; an unused one
/// is lost. If the call comes late, an opportunity passes what was in the queue or waited for it, and on a busy link also
/// what came until the call.
struct TraceStage: FaultStage {
    private let times: [UInt32]
    private let period: Int64
    private let queue: Int64
    /// How far the opportunities have let the stream come.
    private var granted: Int64 = 0
    /// The number of past opportunities, and the position reached by them.
    private var counted: Int64 = 0
    private var base: Int64 = 0
    /// The available end at the last call.
    private var present: Int64 = 0
    private var announcement = Announcement()
    /// Whether more bytes waited then.
    private var isBusy = false
    /// Whether the link stood still at the last call.
    private var wasStill = false
    /// Opportunities that a late call found unused because the source had to wait.
    private var spare: Int64 = 0
    private var spareUntil = Int64.min

    init(_ trace: Trace) {
        times = trace.opportunities
        period = Int64(times.last ?? 1) * Self.millisecond
        queue = trace.queue.bytes
    }

    private static let millisecond: Int64 = 1_000_000

    var traits: StageTraits { StageTraits(holds: true, measuresAvailability: true, isPaced: true) }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        let wanted = progress.bytesAtAvailableEnd
        let past = count(before: context.age)
        guard context.isActive else {
            announcement.end(at: context.passed)
            (granted, base, present, counted) = (progress.bytes, progress.bytes, wanted, past)
            (isBusy, spare) = (false, 0)
            return progress
        }
        if wanted > context.passed, announcement.begin(at: context.passed) { context.effect = .limits }
        granted = max(granted, min(context.passed, progress.bytes))
        if context.now.nanoseconds > spareUntil || progress.isThrottled { spare = 0 }
        if context.isStill || wasStill {
            // The opportunities of this time are lost.
            (base, present, counted) = (granted, wanted, past)
            (isBusy, spare) = (false, 0)
            wasStill = context.isStill
            context.takeLimit = granted.addingSaturated(queue)
            if context.isStill { return throttled(progress) }
        }
        if past > counted {
            let isMadeUp = context.catchUp.isLate && isBusy
            let limit = limit(after: past)
            granted = max(granted, min(limit, isMadeUp ? max(present, wanted) : present))
            if isMadeUp, !progress.isThrottled {
                spareUntil = context.catchUp.until
                spare = spare.addingSaturated(limit.subtractingSaturated(granted))
                spare = min(spare, opportunities(since: context).multipliedSaturated(by: Trace.opportunitySize.bytes))
            }
            base = granted
            counted = past
        }
        if spare > 0, wanted > granted {
            let more = min(spare, wanted - granted)
            spare -= more
            granted += more
            base += more
        }
        // Opportunities of this moment pass what has come by now.
        granted = max(granted, min(limit(after: count(before: context.age.addingSaturated(1))), wanted))
        present = wanted
        isBusy = wanted > granted || progress.isThrottled
        context.takeLimit = granted.addingSaturated(queue)
        if wanted <= granted { return progress }
        let wait = next(after: context.age).subtractingSaturated(context.age)
        context.wake(at: context.now.advanced(byNanoseconds: wait))
        return throttled(progress)
    }

    /// `progress` up to what the opportunities have passed.
    private func throttled(_ progress: StreamProgress) -> StreamProgress {
        guard progress.bytesAtAvailableEnd > granted else { return progress }
        return progress.throttled(at: granted)
    }

    /// How late it may be called beside a rate: an eighth of the time in which a full queue drains, at least 1 ms.
    func rateConstantFor(after now: Moment, _ time: LinkTime) -> Int64 {
        let rate = Double(times.count) * Double(Trace.opportunitySize.bytes) / Double(period)
        return max(Self.millisecond, Int64(min(Double(queue) / rate / 8, 1e15)))
    }

    /// The opportunities in the time that a late call catches up on.
    private func opportunities(since context: StageContext) -> Int64 {
        let span = context.now.nanoseconds.subtractingSaturated(context.catchUp.from)
        return count(before: context.age).subtractingSaturated(count(before: context.age.subtractingSaturated(span)))
    }

    /// How far `count` opportunities let a busy stream come.
    private func limit(after count: Int64) -> Int64 {
        let size = Trace.opportunitySize.bytes
        let (bytes, overflow) = (count - counted).multipliedReportingOverflow(by: size)
        return base.addingSaturated(overflow ? .max : bytes)
    }

    /// The opportunities before an age of the connection, in nanoseconds.
    func count(before age: Int64) -> Int64 {
        guard age > 0 else { return 0 }
        let (rounds, rest) = (age - 1).quotientAndRemainder(dividingBy: period)
        let (whole, overflow) = rounds.multipliedReportingOverflow(by: Int64(times.count))
        return overflow ? .max : whole.addingSaturated(Int64(index(behind: rest / Self.millisecond)))
    }

    /// The age of the first opportunity after an age of the connection, in nanoseconds.
    func next(after age: Int64) -> Int64 {
        let (rounds, rest) = max(0, age).quotientAndRemainder(dividingBy: period)
        let index = index(behind: rest / Self.millisecond)
        let begin = rounds * period
        if index < times.count { return begin.addingSaturated(Int64(times[index]) * Self.millisecond) }
        return begin.addingSaturated(period).addingSaturated(Int64(times[0]) * Self.millisecond)
    }

    /// The index of the first opportunity of a round that is later than `time`.
    private func index(behind time: Int64) -> Int {
        var (low, high) = (0, times.count)
        while low < high {
            let middle = (low + high) / 2
            if Int64(times[middle]) <= time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension Trace: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.trace, .trace(Box(TraceStage(self))))
    }
}
