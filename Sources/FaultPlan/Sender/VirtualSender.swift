import FaultProfile
import Units

/// A model of a TCP sender on a lossy path: how far its stream would have been delivered in order by now.
///
/// It sends packets over a `VirtualPath` to a `VirtualReceiver`, whose acknowledgements come a round trip later. It
/// recovers as Linux does: RACK and tail loss probes (RFC 8985), Proportional Rate Reduction (RFC 9937), and the
/// retransmission timer of RFC 6298. Events are worked out at their own times, whenever it is called.
struct VirtualSender {
    /// The bytes of a segment.
    static let segment: Int64 = 1_448
    /// The bytes of a segment on the link, with the headers of TCP, IP and Ethernet.
    static let frame: Int64 = 1_514
    /// The most lost retransmissions of a segment, as on Linux.
    static let retryLimit = 15
    /// The most packets in flight: 131,072, which are 190 MB.
    static let largestFlight = 131_072
    /// Gap below which a lone segment waits for an ACK: 1 ms.
    private static let writeTime: Int64 = 1_000_000
    /// The time between two ticks of the system's clock, at which its timers fire: 4 ms, as at 250 Hz.
    static let tick: Int64 = 4_000_000
    /// The packets that arrive behind a lost one until its loss is certain (RFC 5681, section 3.2).
    static let duplicateThreshold = 3

    /// The most events in one call: 65,536. The rest follow in the next call, at once.
    static let stepLimit = 65_536

    enum Phase { case open, recovery, timedOut }

    /// What a path loses.
    struct Losses: OptionSet {
        let rawValue: Int
        static let packets = Losses(rawValue: 1)
        static let acknowledgements = Losses(rawValue: 2)
    }

    /// A packet on its way, or its acknowledgement.
    struct Transmission {
        var start: Int64 = 0
        var end: Int64 = 0
        var sent: Int64 = 0
        /// When it arrives, or would have.
        var arrival: Int64 = 0
        /// Until when the receiver acknowledges it, if it arrives.
        var acknowledgementDue: Int64 = 0
        /// The number of its hole, if it was lost, or is sent again because it was; -1 otherwise.
        var hole = -1
        var isLost = false
        var isAgain = false
    }

    /// What a packet tells of the path's rate when it is acknowledged.
    struct RateSample {
        /// What had been delivered when it was sent, and when that was; and when the first of its flight was sent.
        var delivered: Int64 = 0
        var deliveredMoment: Int64 = 0
        var firstSent: Int64 = 0
        /// Whether too little was there to send to learn the path's rate from it.
        var isStarved = false
    }

    /// A lost packet.
    struct Hole {
        enum State { case unnoticed, suspected, marked, sentAgain, repaired }

        var start: Int64 = 0
        var end: Int64 = 0
        /// When it was last sent.
        var sent: Int64 = 0
        /// When a retransmission arrives that isn't lost.
        var repair: Int64 = .max
        var state = State.unnoticed
        var attempts = 0
        /// Its part of `pipe`.
        var inPipe = 1
    }

    let roundTrip: Int64
    private let senderKind: Loss.Sender
    let isPaced: Bool
    let key: RandomKey
    let tickKey: RandomKey
    let grain: Int64
    private let largestReceiveWindow: Int64
    private let largest: Double

    var path: VirtualPath
    var window: CongestionWindow
    var model: BottleneckModel?
    var estimate: RoundTripEstimate
    var phase = Phase.open
    var flight = Ring(unused: Transmission())
    /// The samples of the packets in flight, with the same numbers, if the sender is BBR.
    var samples = Ring(unused: RateSample())
    /// The first packet from which on all have been sent for the first time, and arrive.
    var plainStart = 0
    var holes = Ring(unused: Hole())
    /// The packets in flight, as the sender knows (RFC 6675).
    var pipe = 0
    /// The offset behind the last byte sent, the one up to which all is acknowledged, and the end of what is acknowledged
    /// beyond lost bytes.
    var next: Int64 = 0
    var unacknowledged: Int64 = 0
    var acknowledgedEnd: Int64 = 0
    /// What may be sent.
    var limit: Int64 = 0
    /// The offset that ends the recovery.
    var recoveryEnd: Int64 = 0
    /// The packets acknowledged beyond a lost one while its loss isn't certain.
    var reordered = 0
    /// The numbers of holes that may only be late.
    var suspects: [Int] = []
    /// The number of holes to send again, and the first that may be one.
    var markedCount = 0
    var firstMarked = 0
    /// The window before the recovery, and the packets delivered and sent during it.
    var reductionStart = 0.0
    var reductionDelivered = 0
    var reductionSent = 0
    /// The times that the retransmission timer has fired in a row.
    var backoff = 0
    /// From when the retransmission timer, a probe, and the reordering timer count.
    var timerStart: Int64 = 0
    var probeStart: Int64 = 0
    var reorderingDue = Int64.max
    /// What had been sent when a probe was, and whether it was a retransmission; -1 if none is out.
    var probeEnd: Int64 = -1
    var probeIsAgain = false
    var lastSent: Int64 = .min
    /// When a paced packet may be sent.
    var paceDue: Int64 = .min
    /// Whether the window, and not a lack of bytes, was the last limit, and the most packets in flight of late.
    var isLimited = false
    /// The delivered packets, and when the last was.
    var delivered: Int64 = 0
    var deliveredMoment: Int64 = 0
    var firstSent: Int64 = 0
    /// Delivery count until which samples are app-limited.
    var starvedUntil: Int64 = 0

    var receiver: VirtualReceiver
    /// The first hole that no packet on its way repairs.
    var openHole = 0
    /// The packet that arrives next at the receiver, the hole it waits for, and the end of what has come.
    var arriving = 0
    var awaited = 0
    var arrivedEnd: Int64 = 0
    /// The hole that the receiver waits for in the last acknowledgement.
    var awaitedWhenAcknowledged = 0
    /// Which acknowledgements are lost, by their numbers.
    var acknowledgementLosses: LossPattern?
    /// The number of the next acknowledgement, and what it is for.
    var acknowledgements: Int64 = 0
    var acknowledged = Acknowledged(following: 0)
    /// How often bytes that had arrived were sent again, since an acknowledgement told of new ones.
    var duplicates = 0
    /// Whether the timer has fired for bytes that had arrived: nothing new is sent until an acknowledgement comes.
    var isSilent = false

    /// The last call, and when the next was due.
    private(set) var asked: Int64 = .min
    private var due = Int64.max
    /// The offset of the first packet lost by chance, since it was last looked at.
    var firstLoss: Int64?
    /// How far the stream has been delivered, in bytes.
    private(set) var released: Int64 = 0
    /// The events so far.
    var steps = 0

    /// A sender on the path of `loss`, which loses packets, acknowledgements, or both.
    init(_ loss: Loss, key: RandomKey, losing lost: Losses) {
        roundTrip = max(1, loss.roundTrip.nanoseconds)
        senderKind = loss.sender
        isPaced = loss.sender == .bbr
        self.key = key
        tickKey = key.adding("ticks")
        largestReceiveWindow = min(VirtualReceiver.largestWindow, loss.receiveWindow?.bytes ?? .max)
        var packetLoss = loss
        if !lost.contains(.packets) { packetLoss.rate = .never }
        path = VirtualPath(packetLoss, key: key)
        if lost.contains(.acknowledgements) {
            acknowledgementLosses = LossPattern(loss, key: key.adding("acknowledgements"))
        }
        receiver = VirtualReceiver(at: 0, roundTrip: roundTrip, largest: largestReceiveWindow)
        estimate = RoundTripEstimate(roundTrip)
        grain = min(max(roundTrip / 16, 200_000), 1_000_000)
        largest = min(path.capacity(roundTrip: roundTrip) * 4, Double(Self.largestFlight))
        window = CongestionWindow(loss.sender, largest: largest)
    }

    /// The current window in bytes. Inlined, because a call copies the sender.
    @inline(__always) var windowBytes: Int64 {
        Int64(max(window.segments, window.threshold.isFinite ? window.threshold : 0)) * Self.segment
    }

    /// Begins a new connection at an offset of the stream.
    mutating func begin(at offset: Int64, now: Int64) {
        flight.removeAll()
        samples.removeAll()
        holes.removeAll()
        suspects.removeAll(keepingCapacity: true)
        (released, next, unacknowledged, acknowledgedEnd, limit) = (offset, offset, offset, offset, offset)
        (arriving, awaited, awaitedWhenAcknowledged, arrivedEnd) = (flight.start, holes.start, holes.start, offset)
        (pipe, markedCount, reordered, backoff, firstMarked) = (0, 0, 0, 0, holes.start)
        acknowledged = Acknowledged(following: flight.start)
        (duplicates, isSilent) = (0, false)
        phase = .open
        reorderingDue = .max
        probeEnd = -1
        (lastSent, paceDue, due, asked) = (.min, .min, .max, now)
        (deliveredMoment, firstSent) = (now, now)
        window = CongestionWindow(senderKind, largest: largest)
        model = nil
        estimate = RoundTripEstimate(roundTrip)
        receiver = VirtualReceiver(at: offset, roundTrip: roundTrip, largest: largestReceiveWindow)
        openHole = holes.start
        starvedUntil = 0
        path.begin()
    }

    /// Delivers what may be delivered by `now` of the bytes up to `wanted`. Returns when to ask again if some have to wait,
    /// else `Int64.max`.
    ///
    /// - Parameter available: the end of the bytes that may enter, `wanted` or more.
    /// - Parameter earliest: nothing was sent before this moment, because the sink didn't take bytes.
    mutating func deliver(upTo wanted: Int64, of available: Int64, now: Int64, since earliest: Int64) -> Int64 {
        let stop = steps + Self.stepLimit
        if wanted > limit {
            // A call that comes late is the machine's fault: the bytes would have been there when it was due.
            let since = now > due ? max(due, asked, earliest) : now
            run(until: since, stop: stop)
            limit = wanted
            send(at: since)
        }
        let event = run(until: now, stop: stop)
        // Bytes that may not enter any more, as in an outage, aren't sent. A window that shrinks takes nothing back.
        if available < limit, steps < stop { limit = max(next, available) }
        receive(until: now)
        released = max(released, min(arrivedEnd, awaited < holes.end ? holes[awaited].start : arrivedEnd, wanted))
        asked = now
        due = released < wanted ? (steps >= stop ? now : nextCall(after: now, event: event)) : .max
        return due
    }

    /// Pauses delivery; segments in flight continue.
    mutating func pause() { due = .max }

    // MARK: Sending

    /// Whether bytes wait that haven't been sent.
    var hasUnsent: Bool { next < limit }

    /// Whether bytes wait that the receiver has room for.
    @inline(__always) var hasRoom: Bool { next < limit && next - unacknowledged < receiver.window }

    @inline(__always) var canSend: Bool { pipe < Int(window.segments) && (markedCount > 0 || hasRoom) }

    mutating func send(at now: Int64) {
        var burst = 0
        while !isSilent, flight.count < Self.largestFlight {
            guard markedCount > 0 || hasRoom else {
                isLimited = false
                if isPaced, next == limit, pipe < Int(window.segments) { starvedUntil = delivered + Int64(pipe) + 1 }
                return
            }
            let room = Int(window.segments) - pipe
            guard room > 0 else {
                isLimited = true
                return
            }
            if isPaced, paceDue > now { return }
            if room < 2, burst.isMultiple(of: 2), waitsForAnother(at: now) {
                isLimited = true
                return
            }
            if markedCount > 0 {
                sendMarked(at: now)
            } else {
                burst += 1
                sendNew(at: now, endsPair: burst.isMultiple(of: 2))
            }
            if phase == .recovery { reductionSent += 1 }
        }
    }

    /// Whether a single packet waits for an acknowledgement that lets two leave, as Linux sends at least two at a time.
    private func waitsForAnother(at now: Int64) -> Bool {
        guard phase == .open, !isPaced, markedCount == 0, next + Self.segment < limit, !flight.isEmpty else {
            return false
        }
        return Int(window.segments) > 3 && now - lastSent <= Self.writeTime
            && now - flight[flight.start].sent >= estimate.smoothed / 2
    }

    /// Sends the next bytes.
    ///
    /// - Parameter endsPair: whether a packet was sent just before, which makes a receiver acknowledge both at once.
    mutating func sendNew(at now: Int64, endsPair: Bool = false) {
        let isFirst = unacknowledged == next
        if isFirst {
            timerStart = now
            let isIdle = lastSent > .min && now.subtractingSaturated(lastSent) > estimate.timeOut(backoff: 0)
            if isIdle, !isPaced { window.restart() }
        }
        let start = next
        let end = min((start / Self.segment + 1) * Self.segment, limit)
        let (arrival, isDrawn, isLost) = path.send(start, end, isFirstOfFlight: isFirst, at: now)
        if isDrawn, firstLoss == nil { firstLoss = start }
        next = end
        let due = isLost ? arrival : arrive(end - start, isPushed: endsPair || end == limit, at: arrival)
        record(start, end, arrival, due, isLost: isLost, isAgain: false, hole: isLost ? holes.end : -1, at: now)
        if isLost { holes.append(Hole(start: start, end: end, sent: now, state: .unnoticed)) }
        pipe += 1
        if phase == .open, probeEnd < 0 { probeStart = now }
    }

    private mutating func sendMarked(at now: Int64) {
        while holes[firstMarked].state != .marked { firstMarked += 1 }
        markedCount -= 1
        sendAgain(firstMarked, at: now)
    }

    /// Sends the bytes of a hole again.
    mutating func sendAgain(_ number: Int, at now: Int64) {
        var hole = holes[number]
        hole.attempts += 1
        let (arrival, _, isLost) = path.sendAgain(hole.start, hole.end, attempt: hole.attempts, at: now)
        if !isLost { hole.repair = min(hole.repair, arrival) }
        hole.state = .sentAgain
        hole.sent = now
        hole.inPipe += 1
        holes[number] = hole
        let due = isLost ? arrival : arrive(hole.end - hole.start, isPushed: false, at: arrival)
        pipe += 1
        if hole.start == unacknowledged { timerStart = now }
        record(hole.start, hole.end, arrival, due, isLost: isLost, isAgain: true, hole: number, at: now)
    }

    /// Sends bytes again that have arrived, because no acknowledgement tells so.
    mutating func sendArrived(_ start: Int64, _ end: Int64, at now: Int64) {
        // Counted down, so that they share no draw with retransmissions of the same bytes.
        let attempt = max(1, Self.retryLimit - duplicates)
        duplicates += 1
        let (arrival, _, isLost) = path.sendAgain(start, end, attempt: attempt, at: now)
        let due = isLost ? arrival : arrive(0, isPushed: false, at: arrival)
        record(start, end, arrival, due, isLost: isLost, isAgain: true, hole: -1, at: now)
        pipe += 1
    }

    private mutating func record(
        _ start: Int64,
        _ end: Int64,
        _ arrival: Int64,
        _ due: Int64,
        isLost: Bool,
        isAgain: Bool,
        hole: Int,
        at now: Int64
    ) {
        if pipe == 0 { (firstSent, deliveredMoment) = (now, now) }
        lastSent = now
        flight.append(
            Transmission(
                start: start,
                end: end,
                sent: now,
                arrival: arrival,
                acknowledgementDue: due,
                hole: hole,
                isLost: isLost,
                isAgain: isAgain
            )
        )
        if isLost || isAgain { plainStart = flight.end }
        guard isPaced else { return }
        samples.append(
            RateSample(
                delivered: delivered,
                deliveredMoment: deliveredMoment,
                firstSent: firstSent,
                isStarved: starvedUntil > delivered
            )
        )
        if model == nil { model = BottleneckModel(roundTrip: roundTrip, now: now, key: key.adding("probe")) }
        let share = Double(end - start) / Double(Self.segment)
        paceDue = max(now, paceDue).addingSaturated(Int64(min(share / (model?.pace ?? 1), 1e15)))
    }
}
