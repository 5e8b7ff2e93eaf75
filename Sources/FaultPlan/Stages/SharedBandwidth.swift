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

    /// A link has something to pass. The first one after an idle time finds no more than the burst.
    func enter(at now: Int64) {
        if busyLinks.add(1, ordering: .acquiringAndReleasing).oldValue == 0 {
            moveForward(to: burstBegin(at: now))
        }
    }

    /// A link has nothing more to pass.
    func leave() {
        busyLinks.subtract(1, ordering: .acquiringAndReleasing)
    }

    /// Reserves a quantum of the `wanted` bytes, or all of them that are due already, and returns how
    /// many they are and the nanosecond by which they may have passed. `wanted` is above zero.
    func reserve(_ wanted: Int64, at now: Int64) -> (bytes: Int64, until: Int64) {
        let floor = burstBegin(at: now).subtractingSaturated(BandwidthStage.latenessAllowance)
        var current = next.load(ordering: .relaxed)
        while true {
            let begin = max(current, floor)
            let (bytes, end) = reservation(of: wanted, from: begin, at: now)
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
    private func reservation(of wanted: Int64, from begin: Int64, at now: Int64) -> (bytes: Int64, end: Int64) {
        let from = begin.subtractingSaturated(start)
        let due = curve.bytes(from: from, to: now.subtractingSaturated(start))
        var bytes = min(wanted, max(BandwidthStage.quantum(of: curve.rate(at: from)), due))
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
struct SharedBandwidthStage {
    private let bucket: SharedBucket
    private var granted: Int64 = 0
    private var reserved: Int64 = 0
    private var reservedUntil: Int64 = 0
    private var isBusy = false
    private var announcement = Announcement()

    init(_ bucket: SharedBucket) {
        self.bucket = bucket
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        guard visit.isActive else {
            leave()
            reserved = 0
            announcement.end(at: visit.passed)
            return reach
        }
        granted = max(granted, visit.passed)
        let wanted = reach.bytesAtHorizon
        guard wanted > granted else {
            leave()
            return reach
        }
        if announcement.begin(at: visit.passed) { visit.effect = .limits }
        let now = visit.now.nanoseconds
        if !isBusy {
            isBusy = true
            bucket.enter(at: now)
        }
        takeGrants(upTo: wanted, now: now, &visit)
        if wanted <= granted {
            // Whether the sink takes it or not, nobody may count this link among those that want more.
            leave()
            return reach
        }
        var passing = reach
        passing.clamp(to: granted)
        return passing
    }

    /// Withdraws from the shared rate: the link has nothing to pass, or is gone.
    mutating func leave() {
        guard isBusy else { return }
        isBusy = false
        bucket.leave()
    }

    private mutating func takeGrants(upTo horizon: Int64, now: Int64, _ visit: inout Visit) {
        while true {
            if reserved > 0 {
                guard reservedUntil <= now else {
                    visit.wake(at: Moment(nanoseconds: reservedUntil))
                    return
                }
                granted += reserved
                reserved = 0
            }
            guard horizon > granted else { return }
            (reserved, reservedUntil) = bucket.reserve(horizon - granted, at: now)
        }
    }
}
