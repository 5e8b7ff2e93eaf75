import Units

/// A retransmission timer with exponential backoff (RFC 6298, section 5).
struct RetransmissionTimer {
    /// The shortest time-out: 200 ms, as on Linux and Apple's systems; the RFC says 1 s.
    static let floor: Int64 = 200_000_000
    /// The longest time-out: 120 s, as on Linux; the RFC says 60 s or more.
    static let ceiling: Int64 = 120_000_000_000

    /// The first time-out, in nanoseconds.
    let first: Int64

    /// Makes the timer of a path with a round trip in nanoseconds: 1.5 round trips, but at least the floor.
    init(roundTrip: Int64) {
        first = max(Self.floor, min(roundTrip, Self.ceiling / 2) * 3 / 2)
    }

    /// Makes a timer that first fires after `first` nanoseconds, above zero.
    init(first: Int64) {
        self.first = first
    }

    /// The time until the timer has fired `count` times in a row, in nanoseconds: first · (2^count − 1), with each
    /// time-out up to the ceiling.
    func elapsed(after count: Int) -> Int64 {
        var sum: Int64 = 0
        var next = first
        for _ in 0..<count {
            sum = sum.addingSaturated(next)
            next = min(next * 2, max(first, Self.ceiling))
        }
        return sum
    }

    /// The first firing at or after `moment`; both in nanoseconds since the timer was set.
    func firing(notBefore moment: Int64) -> Int64 {
        var sum: Int64 = 0
        var next = first
        while sum < moment {
            if next >= Self.ceiling {
                // From here on the time-outs are equal.
                let rounds = (moment - sum + next - 1) / next
                let (product, overflow) = rounds.multipliedReportingOverflow(by: next)
                return overflow ? .max : sum.addingSaturated(product)
            }
            sum = sum.addingSaturated(next)
            next = min(next * 2, Self.ceiling)
        }
        return sum
    }
}
