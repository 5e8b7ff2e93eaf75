/// The throughput of TCP on a lossy path by published formulas, for comparison with a simulation.
public enum GoodputModel {
    /// The bytes of a segment.
    private static let segment = 1_448.0

    /// Bytes per second with time-outs: MSS / (RTT·√(2p/3) + T0·min(1, 3√(3p/8))·p·(1 + 32p²)), with an
    /// acknowledgement for each segment, no limit by the receiver, and a first time-out T0 of 1.5 round trips
    /// or 200 ms (J. Padhye, V. Firoiu, D. Towsley and J. Kurose, "Modeling TCP throughput: a simple model and
    /// its empirical validation", 1998; known as PFTK).
    ///
    /// - Parameters:
    ///   - loss: the chance of a loss for each segment, above 0 and below 1.
    ///   - roundTrip: seconds, above 0.
    public static func withTimeOuts(loss: Double, roundTrip: Double) -> Double {
        let timeOut = max(0.2, 1.5 * roundTrip)
        let halved = roundTrip * (2 * loss / 3).squareRoot()
        let timedOut = timeOut * min(1, 3 * (3 * loss / 8).squareRoot()) * loss * (1 + 32 * loss * loss)
        return segment / (halved + timedOut)
    }
}
