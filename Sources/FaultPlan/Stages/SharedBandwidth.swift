import FaultProfile
import Synchronization
import Units

/// A rate shared by several links, which may be on different threads.
///
/// The state is one atomic word: the time at which the next byte may begin to pass. A link reserves bytes by advancing it,
/// and passes them when their time has come, so busy links take turns. No lock.
public final class SharedBucket: Sendable {
    private let curve: RateCurve
    private let burst: Int64
    private let steadyQuantum: Int64?
    /// The start of the rate's curve.
    private let start: Int64
    private let next = Atomic<Int64>(.min)
    private let busyLinks = Atomic<Int>(0)

    /// Makes the bucket of a shared `bandwidth` fault, whose curve starts at `start`.
    public init(_ bandwidth: Bandwidth, start: Moment = .zero) {
        curve = RateCurve(bandwidth)
        burst = bandwidth.burst.bytes
        steadyQuantum = curve.isSteady ? BandwidthStage.quantum(of: bandwidth.rate) : nil
        self.start = start.nanoseconds
    }

    /// Notes that a link has bytes to pass, and may catch up on the time since `earliest`. The first link after an idle
    /// time finds no more than the burst beside that.
    func enter(since earliest: Int64) {
        if busyLinks.add(1, ordering: .acquiringAndReleasing).oldValue == 0 {
            next.max(burstBegin(at: earliest), ordering: .acquiringAndReleasing)
        }
    }

    func rateConstantFor(after moment: Int64) -> Int64 {
        curve.rateConstantFor(after: moment.subtractingSaturated(start))
    }

    /// Notes that a link has nothing more to pass.
    func leave() {
        busyLinks.subtract(1, ordering: .acquiringAndReleasing)
    }

    /// Reserves a quantum, or all bytes that are due already, but no more than `wanted`, which is above zero. Returns the
    /// number of bytes and the time by which they may have passed. With `isThrottled` a whole quantum is reserved, because
    /// more bytes will come. Bytes unused before `earliest` are lost, apart from the burst. `unused` bytes of earlier
    /// reservations are subtracted.
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

    /// The time from which the burst would have passed by `now`.
    private func burstBegin(at now: Int64) -> Int64 { begin(of: burst, until: now) }

    func begin(of bytes: Int64, until end: Int64) -> Int64 {
        start.addingSaturated(curve.time(before: end.subtractingSaturated(start), forBytes: bytes))
    }

    /// The line of a constant rate through an offset. What finds no room isn't given up: it is reserved.
    func feed(_ offset: Int64, at time: Int64, hasMore: Bool) -> Feed? {
        steadyQuantum.map {
            Feed(offset: offset, start: time, rate: curve.first, quantum: $0, kept: .max, hasMore: hasMore)
        }
    }

    /// The bytes to reserve, and when they have passed if the first may begin at `begin`.
    private func reservation(
        of wanted: Int64,
        _ isThrottled: Bool,
        from begin: Int64,
        at now: Int64,
        unused: Int64
    ) -> (bytes: Int64, end: Int64) {
        let from = begin.subtractingSaturated(start)
        let due = curve.bytes(from: from, to: now.subtractingSaturated(start))
        let quantum = steadyQuantum ?? BandwidthStage.quantum(of: curve.rate(at: from))
        var bytes = min(isThrottled ? max(wanted, quantum) : wanted, max(quantum, due) - unused)
        guard bytes > 0 else { return (0, now) }
        var end = curve.time(from: from, forBytes: bytes)
        let limit = max(now.subtractingSaturated(start), from).addingSaturated(2 * BandwidthStage.longestQuantum)
        if !curve.isSteady, end > limit {
            // The rate is about to fall, so a quantum takes longer and others wait.
            bytes = max(1, min(bytes, curve.bytes(from: from, to: limit)))
            end = curve.time(from: from, forBytes: bytes)
        }
        return (bytes, start.addingSaturated(end))
    }
}

/// A shared rate on one link.
struct SharedBandwidthStage: FaultStage {
    private let bucket: SharedBucket
    private var granted: Int64 = 0
    private var reserved: Int64 = 0
    private var reservedUntil: Int64 = 0
    /// The line of reservations without a gap: an offset, when it was reached, and until when they last.
    private var line: (offset: Int64, start: Int64, end: Int64) = (0, .min, .min)
    /// Until when the link left a part of the rate unused, being idle or held back by other stages.
    private var unusedUntil = Int64.min
    /// The last time of that; calls at the same time still count as before.
    private var unusedAt = Int64.min
    /// How far all stages let bytes come at the last call, if they held back granted bytes. Unlike the position it doesn't
    /// depend on read sizes.
    private var settledEnd = Int64.max
    private var isBusy = false
    private var announcement = Announcement()
    /// Until when an idle source counts as busy, because it had to wait for a late call.
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
        if wanted > granted || context.feed == nil {
            let hasMore = wanted > granted || progress.isThrottled
            context.feed = bucket.feed(line.offset, at: line.start, hasMore: hasMore)
        }
        if wanted <= granted {
            // The link wants no more, whether or not the sink takes the bytes.
            if progress.isThrottled { unusedAt = now } else { leave() }
            return progress
        }
        return progress.throttled(at: granted)
    }

    func rateConstantFor(after now: Moment, _ time: LinkTime) -> Int64 {
        bucket.rateConstantFor(after: now.nanoseconds)
    }

    /// Leaves to other links what other stages, which let bytes come to `availableEnd`, don't use.
    mutating func settle(at availableEnd: Int64, now: Moment) {
        settledEnd = availableEnd
        if granted > availableEnd { unusedAt = now.nanoseconds }
    }

    /// Withdraws from the shared rate.
    mutating func leave() {
        guard isBusy else { return }
        isBusy = false
        bucket.leave()
    }

    /// Takes what is granted by now, and reserves more, minus the `unused` bytes granted before. Behind another rate
    /// (`isThrottled`) whole quanta are reserved; otherwise two rates of about the same speed would pass single bytes.
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
                let begin = bucket.begin(of: reserved, until: reservedUntil)
                if begin != line.end { (line.offset, line.start) = (granted, begin) }
                line.end = reservedUntil
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
