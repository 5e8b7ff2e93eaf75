/// What a sender knows of the round trip, and the time-outs that follow from it. Times are in nanoseconds.
struct RoundTripEstimate {
    /// What a probe of a flight of one segment waits for beside two round trips, because the receiver may delay its
    /// acknowledgement: 200 ms, as on Linux (RFC 8985, section 7.2, WCDelAckT).
    static let delayedAcknowledgement: Int64 = 200_000_000
    /// Slack of other probes and of the reordering timer: 2 ms.
    static let leastTimer: Int64 = 2_000_000

    private(set) var smoothed: Int64
    private var variation: Int64
    private(set) var least: Int64

    /// Begins with the round trip of the handshake.
    init(_ roundTrip: Int64) {
        (smoothed, variation, least) = (roundTrip, roundTrip / 2, roundTrip)
    }

    /// A round trip that has been the same for long.
    init(settled roundTrip: Int64) {
        (smoothed, variation, least) = (roundTrip, 0, roundTrip)
    }

    /// Takes a measurement (RFC 6298, section 2.3).
    mutating func add(_ sample: Int64) {
        variation += (abs(smoothed - sample) - variation) / 4
        smoothed += (sample - smoothed) / 8
        least = min(least, sample)
    }

    /// The retransmission time-out after it has fired `backoff` times in a row.
    ///
    /// Linux adds its floor of 200 ms to the smoothed round trip, where RFC 6298 has it as the least of the sum.
    func timeOut(backoff: Int) -> Int64 {
        var time = smoothed.addingSaturated(max(RetransmissionTimer.floor, variation.multipliedSaturated(by: 4)))
        for _ in 0..<backoff where time < RetransmissionTimer.ceiling { time *= 2 }
        return min(time, RetransmissionTimer.ceiling)
    }

    /// The time to a probe for a lost tail (RFC 8985, section 7.2).
    func probeTimeOut(isSingle: Bool) -> Int64 {
        (2 * smoothed).addingSaturated(isSingle ? Self.delayedAcknowledgement : Self.leastTimer)
    }

    /// RACK reordering window (RFC 8985, section 6.2).
    var reorderingWindow: Int64 { min(least / 4, smoothed) }
}
