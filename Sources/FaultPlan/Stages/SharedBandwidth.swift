import FaultProfile
import Synchronization
import Units

/// A rate that several links share, on whatever threads they are.
///
/// It is one number: the moment at which the next byte may begin to pass. A link reserves bytes by
/// moving that moment on, and lets them out when their time has come, so links that always want
/// more take turns, a reservation each. One atomic word; no lock.
public final class SharedBucket: Sendable {
    let rate: BitRate
    let quantum: Int64
    private let burstTime: Int64
    private let next = Atomic<Int64>(.min)
    private let busyLinks = Atomic<Int>(0)

    /// Makes the bucket of a `bandwidth` fault whose scope is the proxy.
    public init(_ bandwidth: Bandwidth) {
        rate = bandwidth.rate
        quantum = BandwidthStage.quantum(of: bandwidth.rate)
        burstTime = bandwidth.rate.nanoseconds(forBytes: bandwidth.burst.bytes)
    }

    /// A link has something to pass. The first one after an idle time finds no more than the burst.
    func enter(at now: Int64) {
        if busyLinks.add(1, ordering: .acquiringAndReleasing).oldValue == 0 {
            moveForward(to: now.subtractingSaturated(burstTime))
        }
    }

    /// A link has nothing more to pass.
    func leave() {
        busyLinks.subtract(1, ordering: .acquiringAndReleasing)
    }

    /// Reserves a quantum of the `wanted` bytes, or all of them that are due already, and returns how
    /// many they are and the nanosecond by which they may have passed. `wanted` is above zero.
    func reserve(_ wanted: Int64, at now: Int64) -> (bytes: Int64, until: Int64) {
        let floor = now.subtractingSaturated(burstTime.addingSaturated(BandwidthStage.latenessAllowance))
        var current = next.load(ordering: .relaxed)
        while true {
            let begin = max(current, floor)
            let due = rate.bytes(inNanoseconds: now.subtractingSaturated(begin))
            let bytes = min(wanted, max(quantum, due))
            let end = begin.addingSaturated(rate.nanoseconds(forBytes: bytes))
            let (exchanged, original) = next.compareExchange(
                expected: current,
                desired: end,
                ordering: .acquiringAndReleasing
            )
            if exchanged { return (bytes, end) }
            current = original
        }
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
    private var announced = false

    init(_ bucket: SharedBucket) {
        self.bucket = bucket
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        guard visit.isActive else {
            leave()
            reserved = 0
            announced = false
            return reach
        }
        granted = max(granted, visit.passed)
        let wanted = reach.bytesAtHorizon
        guard wanted > granted else {
            leave()
            return reach
        }
        if !announced {
            announced = true
            visit.effect = .limits
        }
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
