import FaultProfile
import Units

/// The way of packets from a virtual sender to its receiver: a link with a rate and a queue, and losses behind it.
///
/// Nothing overtakes on it. All of the round trip is on the way back.
struct VirtualPath {
    /// The queue of a link for which none is said: what the path carries in a round trip, but at least 100 packets.
    static let leastQueue = 100

    private let rate: BitRate
    /// Serialization time of a segment, in nanoseconds; arrival means the first bit.
    let segmentTime: Int64
    /// The packets that may wait for the link, as time.
    private let queueTime: Int64
    private var pattern: LossPattern
    /// Until when the link is busy.
    private var free: Int64 = .min
    /// Whether the packet before was lost.
    private var isLosing = false

    init(_ loss: Loss, key: RandomKey) {
        let rate = loss.link
        self.rate = rate
        pattern = LossPattern(loss, key: key)
        segmentTime = max(1, rate.nanoseconds(forBytes: VirtualSender.frame))
        let usual = max(loss.roundTrip.nanoseconds, segmentTime.multipliedSaturated(by: Int64(Self.leastQueue)))
        queueTime = loss.queue.map { rate.nanoseconds(forBytes: $0.bytes) } ?? usual
    }

    /// The packets that the path carries in `roundTrip` and that wait in its queue.
    func capacity(roundTrip: Int64) -> Double {
        Double(roundTrip.addingSaturated(queueTime)) / Double(segmentTime) + 1
    }

    /// A new connection has the link for itself.
    mutating func begin() {
        free = .min
        isLosing = false
    }

    /// Sends the bytes `start..<end` for the first time; returns when they arrive, or would have, and whether they are lost.
    mutating func send(_ start: Int64, _ end: Int64, isFirstOfFlight: Bool, at now: Int64) -> (
        arrival: Int64, isDrawn: Bool, isLost: Bool
    ) {
        let (segment, inside) = start.quotientAndRemainder(dividingBy: VirtualSender.segment)
        let isDrawn =
            inside == 0
            ? pattern.isLost(segment) : isFirstOfFlight && pattern.isLostAlone(start, afterLoss: isLosing)
        isLosing = isDrawn
        return pass(end - start, isDrawn: isDrawn, at: now)
    }

    /// Sends bytes for the `attempt`th time, counted from 1 for the first retransmission.
    mutating func sendAgain(_ start: Int64, _ end: Int64, attempt: Int, at now: Int64) -> (
        arrival: Int64, isDrawn: Bool, isLost: Bool
    ) {
        let isDrawn = attempt <= VirtualSender.retryLimit && pattern.isLostAgain(start, attempt, afterLoss: isLosing)
        isLosing = isDrawn
        return pass(end - start, isDrawn: isDrawn, at: now)
    }

    private mutating func pass(_ bytes: Int64, isDrawn: Bool, at now: Int64) -> (
        arrival: Int64, isDrawn: Bool, isLost: Bool
    ) {
        let begin = max(free, now)
        guard begin.subtractingSaturated(now) <= queueTime else { return (begin, false, true) }
        let time =
            bytes == VirtualSender.segment
            ? segmentTime : rate.nanoseconds(forBytes: bytes + VirtualSender.frame - VirtualSender.segment)
        free = begin.addingSaturated(time)
        return (begin, isDrawn, isDrawn)
    }
}
