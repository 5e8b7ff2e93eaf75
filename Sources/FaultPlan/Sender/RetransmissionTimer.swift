import Units

/// The timer of a sender that hears nothing: it doubles each time (RFC 6298, section 5).
struct RetransmissionTimer {
    /// The shortest time-out: 200 ms, as Linux and Apple's systems have it; the RFC has 1 s.
    static let floor: Int64 = 200_000_000
    /// The longest: 120 s, as on Linux; the RFC asks for 60 s or more.
    static let ceiling: Int64 = 120_000_000_000

    /// The first time-out, in nanoseconds.
    let first: Int64

    /// The timer of a path with a round trip of `roundTrip` nanoseconds: 1.5 round trips, or the floor.
    init(roundTrip: Int64) {
        first = max(Self.floor, min(roundTrip, Self.ceiling / 2) * 3 / 2)
    }

    /// A timer that first fires after `first` nanoseconds, more than zero.
    init(first: Int64) {
        self.first = first
    }

    /// When the timer has fired `count` times in a row, in nanoseconds since it was set: first · (2^count − 1),
    /// up to the ceiling.
    func elapsed(after count: Int) -> Int64 {
        var sum: Int64 = 0
        var next = first
        for _ in 0..<count {
            sum = sum.addingSaturated(next)
            next = min(next * 2, max(first, Self.ceiling))
        }
        return sum
    }

    /// The first time at which it fires that isn't before `moment`; both in nanoseconds since it was set.
    func firing(notBefore moment: Int64) -> Int64 {
        var sum: Int64 = 0
        var next = first
        while sum < moment {
            if next >= Self.ceiling {
                // From here on it fires evenly.
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
