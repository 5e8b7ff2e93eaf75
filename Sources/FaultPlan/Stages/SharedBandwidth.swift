import FaultProfile
import Synchronization
import Units

/// A rate that several links share, on whatever threads they are.
///
/// It is one number: the moment at which the next byte may begin to pass. A link reserves bytes by
/// moving that moment on, and lets them out when their time has come, so links that always want
/// more take turns, a reservation each. One atomic word; no lock.
public final class SharedBucket: Sendable {
    private let curve: RateCurve
    private let burst: Int64
    /// The moment at which the curve of the rate begins.
    private let start: Int64
    private let next = Atomic<Int64>(.min)
    private let busyLinks = Atomic<Int>(0)

    /// Makes the bucket of a `bandwidth` fault that several connections share, whose rate, where it
    /// changes, begins to at `start`.
    public init(_ bandwidth: Bandwidth, start: Moment = .zero) {
        curve = RateCurve(bandwidth)
        burst = bandwidth.burst.bytes
        self.start = start.nanoseconds
    }

    /// A link has something to pass, and makes up for the time since `earliest`. The first one after an idle time finds
    /// no more than the burst beside that.
    func enter(since earliest: Int64) {
        if busyLinks.add(1, ordering: .acquiringAndReleasing).oldValue == 0 {
            moveForward(to: burstBegin(at: earliest))
        }
    }

    /// How long the rate may be taken for even from a moment on, see `RateCurve.evenness`.
    func evenness(after moment: Int64) -> Int64 { curve.evenness(after: moment.subtractingSaturated(start)) }

    /// A link has nothing more to pass.
    func leave() {
        busyLinks.subtract(1, ordering: .acquiringAndReleasing)
    }

    /// Reserves a quantum of the `wanted` bytes, or all of them that are due already, and returns how
    /// many they are and the nanosecond by which they may have passed. `wanted` is above zero. With `isThrottled` more
    /// bytes will come at a rate, and a whole quantum is reserved. What nobody has used before `earliest` is lost, apart
    /// from the burst. What the link has left `unused` of earlier reservations counts; if that is a quantum or all that
    /// is due, nothing is reserved.
    func reserve(
        _ wanted: Int64,
        isThrottled: Bool = false,
        at now: Int64,
        since earliest: Int64,
        unused: Int64 = 0
    ) -> (bytes: Int64, until: Int64) {
        let floor = burstBegin(at: earliest)
        var current = next.load(ordering: .relaxed)
        while true {
            let begin = max(current, floor)
            let (bytes, end) = reservation(of: wanted, isThrottled, from: begin, at: now, unused: unused)
            if bytes == 0 { return (0, now) }
            let (exchanged, original) = next.compareExchange(
                expected: current,
                desired: end,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return (bytes, end) }
            current = original
        }
    }

    /// The moment from which the burst would have passed by now.
    private func burstBegin(at now: Int64) -> Int64 {
        start.addingSaturated(curve.time(before: now.subtractingSaturated(start), forBytes: burst))
    }

    /// How many of the `wanted` bytes are reserved at a time, and when they have passed, if the first may
    /// begin to at `begin`.
    private func reservation(
        of wanted: Int64,
        _ isThrottled: Bool,
        from begin: Int64,
        at now: Int64,
        unused: Int64
    ) -> (bytes: Int64, end: Int64) {
        let from = begin.subtractingSaturated(start)
        let due = curve.bytes(from: from, to: now.subtractingSaturated(start))
        let quantum = BandwidthStage.quantum(of: curve.rate(at: from))
        var bytes = min(isThrottled ? max(wanted, quantum) : wanted, max(quantum, due) - unused)
        guard bytes > 0 else { return (0, now) }
        var end = curve.time(from: from, forBytes: bytes)
        let limit = max(now.subtractingSaturated(start), from).addingSaturated(2 * BandwidthStage.longestQuantum)
        if !curve.isSteady, end > limit {
            // The rate is about to fall: what was a moment's bytes now takes long, and others wait.
            bytes = max(1, min(bytes, curve.bytes(from: from, to: limit)))
            end = curve.time(from: from, forBytes: bytes)
        }
        return (bytes, start.addingSaturated(end))
    }

    private func moveForward(to moment: Int64) {
        var current = next.load(ordering: .relaxed)
        while current < moment {
            let (exchanged, original) = next.compareExchange(
                expected: current,
                desired: moment,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return }
            current = original
        }
    }
}

/// One link's part in a shared rate.
struct SharedBandwidthStage: FaultStage {
    private let bucket: SharedBucket
    private var granted: Int64 = 0
    private var reserved: Int64 = 0
    private var reservedUntil: Int64 = 0
    /// Until when the link has left something of the rate unused, of its own accord or because other stages hold it back.
    private var unusedUntil = Int64.min
    /// When it did so last: what it is asked at the same moment still counts from before.
    private var unusedAt = Int64.min
    /// How far all stages let bytes come when the link was last asked; no bound where none held back what was granted.
    ///
    /// Unlike the position it doesn't depend on the sizes of reads.
    private var settledEnd = Int64.max
    private var isBusy = false
    private var announcement = Announcement()
    /// Until when a source that goes idle isn't taken for idle, because it had to wait for a late question.
    private var recovery = Int64.min

    init(_ bucket: SharedBucket) {
        self.bucket = bucket
    }

    var traits: StageTraits {
        StageTraits(measuresAvailability: true, isIdleWhenDrained: true, isPaced: true, isRate: true)
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard context.isActive else {
            leave()
            reserved = 0
            announcement.end(at: context.passed)
            return progress
        }
        granted = max(granted, context.passed)
        let unused = max(0, granted.subtractingSaturated(settledEnd))
        settledEnd = .max
        let wanted = progress.bytesAtAvailableEnd
        guard wanted > granted || progress.isThrottled else {
            if context.waiting > wanted { recovery = .min }
            leave()
            return progress
        }
        if wanted > granted, announcement.begin(at: context.passed) { context.effect = .limits }
        let now = context.now.nanoseconds
        if now > unusedAt { unusedUntil = max(unusedUntil, unusedAt) }
        if !isBusy {
            isBusy = true
            if now > recovery { unusedUntil = now }
            bucket.enter(since: max(unusedUntil, context.catchUp.from))
        }
        recovery = context.catchUp.until
        takeGrants(upTo: wanted, isThrottled: progress.isThrottled, unused: unused, now: now, &context)
        if wanted <= granted {
            // Whether the sink takes it or not, nobody may count this link among those that want more.
            if progress.isThrottled { unusedAt = now } else { leave() }
            return progress
        }
        var passing = progress
        passing.clamp(to: granted)
        passing.isThrottled = true
        return passing
    }

    /// How long the rate may be taken for even from a moment on, see `RateCurve.evenness`.
    func evenness(after now: Moment, age: Int64) -> Int64 { bucket.evenness(after: now.nanoseconds) }

    /// Leaves to others what other stages don't let the link use: of all, they let bytes come to `availableEnd`.
    mutating func settle(at availableEnd: Int64, now: Moment) {
        settledEnd = availableEnd
        if granted > availableEnd { unusedAt = now.nanoseconds }
    }

    /// Withdraws from the shared rate: the link has nothing to pass, or is gone.
    mutating func leave() {
        guard isBusy else { return }
        isBusy = false
        bucket.leave()
    }

    /// Takes what is granted by now, and reserves more, less what is left `unused` of what was granted before.
    ///
    /// Behind a rate (`isThrottled`) whole quanta are reserved: byte by byte, two rates of about the same speed would
    /// ask for each byte by itself.
    private mutating func takeGrants(
        upTo availableEnd: Int64,
        isThrottled: Bool,
        unused: Int64,
        now: Int64,
        _ context: inout StageContext
    ) {
        while true {
            if reserved > 0 {
                guard reservedUntil <= now else {
                    context.wake(at: Moment(nanoseconds: reservedUntil))
                    return
                }
                granted += reserved
                reserved = 0
            }
            guard availableEnd > granted else { return }
            let earliest = min(now, max(unusedUntil, context.catchUp.from))
            (reserved, reservedUntil) = bucket.reserve(
                availableEnd - granted,
                isThrottled: isThrottled,
                at: now,
                since: earliest,
                unused: unused
            )
            if reserved == 0 { return }
        }
    }
}
