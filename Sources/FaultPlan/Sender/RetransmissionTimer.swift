import Units

/// A retransmission timer with exponential backoff (RFC 6298, section 5).
struct RetransmissionTimer {
    /// What Linux adds to the round trip, where RFC 6298 has a least time-out of 1 s: 200 ms.
    static let floor: Int64 = 200_000_000
    /// The longest time-out: 120 s, as on Linux; the RFC says 60 s or more.
    static let ceiling: Int64 = 120_000_000_000

    /// The time until the timer is set for the first time, in nanoseconds.
    let delay: Int64
    /// The first time-out, in nanoseconds.
    let first: Int64

    /// The kernel's timers; `nil` fires exactly.
    private let wheel: TimerWheel?

    /// Makes a timer that first fires after `first` nanoseconds, above zero.
    init(first: Int64) {
        (delay, self.first, wheel) = (0, first, nil)
    }

    /// Makes the timer of a Linux sender on a path with a round trip, its queue included, in nanoseconds.
    ///
    /// A tail loss probe comes first (RFC 8985, section 7.2), and sets the timer anew: for a flight 2 round trips after the
    /// last acknowledgement, which comes `sinceLoss` nanoseconds after the path has failed; for a single packet when the
    /// timer would have fired.
    init(roundTrip: Int64, isSingle: Bool, sinceLoss: Int64, wheel: TimerWheel) {
        let estimate = RoundTripEstimate(settled: min(roundTrip, Self.ceiling))
        first = TimerWheel.whole(estimate.timeOut(backoff: 0))
        let probe = isSingle ? first : min(estimate.probeTimeOut(isSingle: false), first)
        delay = wheel.firing(of: probe, setAt: sinceLoss)
        self.wheel = wheel
    }

    /// The time until the timer has fired `count` times in a row, in nanoseconds: first · (2^count − 1), with each
    /// time-out up to the ceiling, after the delay.
    func elapsed(after count: Int) -> Int64 {
        var sum = delay
        var next = first
        for _ in 0..<count {
            sum = sum.addingSaturated(next)
            next = min(next * 2, max(first, Self.ceiling))
        }
        return sum
    }

    /// The first transmission at or after `moment`: the one at the end of the delay, or a firing. Both are in nanoseconds
    /// since the start; 0 if `moment` isn't after that.
    func firing(notBefore moment: Int64) -> Int64 {
        if moment <= 0 { return 0 }
        var sum = delay
        var next = first
        while sum < moment {
            if next >= Self.ceiling {
                // From here on the time-outs are equal.
                let rounds = (moment - sum + next - 1) / next
                let (product, overflow) = rounds.multipliedReportingOverflow(by: next)
                return overflow ? .max : sum.addingSaturated(product)
            }
            sum = wheel?.firing(of: next, setAt: sum) ?? sum.addingSaturated(next)
            next = min(next * 2, Self.ceiling)
        }
        return sum
    }
}
