import FaultProfile
import Units

/// A model of a TCP sender on a lossy path: how far its stream would have been delivered in order by now.
///
/// The model works in rounds. A round sends a window of segments at the rate of the link and lasts a round trip, or as long
/// as the link needs. The stream stops at a lost segment until that would have been repaired; segments after it count as
/// sent and are delivered in one burst. The work depends on the number of losses and not on bytes.
///
/// The cost of a loss follows RFC 8985 (RACK-TLP): a round trip after the third segment that follows, or 1.25 after the
/// first; two round trips at the tail of a flight; the retransmission timer if the segment was alone in flight or was lost
/// again. A lost retransmission costs BBR one more round trip, because it always has enough in flight to notice.
struct VirtualSender {
    /// The bytes of a segment.
    static let segment: Int64 = 1_448
    /// The bytes of a segment on the link, with the headers of TCP, IP and Ethernet.
    static let frame: Int64 = 1_514
    /// The most lost retransmissions of a segment, as on Linux.
    static let retryLimit = 15
    /// The largest window, in segments: 1.4 TB.
    static let largestWindow = 1e9

    /// The most rounds, holes and lost segments in one call: 65,536. The rest follow in the next call, at once.
    private static let stepLimit = 65_536

    /// A window of segments in flight.
    private struct Round {
        var begin: Int64
        var base: Int64
        var end: Int64
        var lost: Int64 = 0
        var hasTimedOut = false
        /// Nothing new is sent before this moment.
        var resume: Int64 = .min
    }

    /// A run of lost segments, which holds the stream back.
    private struct Hole {
        var first: Int64
        var end: Int64
        /// When the first was sent.
        var sent: Int64
        var tookWholeFlight: Bool
        /// The delay added by lost retransmissions.
        var delay: Int64
        var hasTimedOut: Bool
        var repair: Int64
        /// The bytes known to follow when `repair` was computed.
        var availableEnd: Int64
    }

    private let sender: Loss.Sender
    private let roundTrip: Int64
    private let rate: BitRate
    private let quantum: Int64
    private let timer: RetransmissionTimer
    private var pattern: LossPattern
    private var window: CongestionWindow
    private var round: Round?
    private var hole: Hole?
    /// When the last hole was repaired.
    private var repaired: Int64 = .min
    /// Whether bytes waited at the last call, since when, and since when none have.
    private var isBusy = false
    private var busySince: Int64 = 0
    private var idleSince: Int64 = 0
    /// How far the stream has been delivered, in bytes.
    private(set) var released: Int64 = 0
    /// The rounds, holes, lost segments and lost retransmissions so far.
    private(set) var steps = 0

    init(_ loss: Loss, key: RandomKey) {
        sender = loss.sender
        roundTrip = loss.roundTrip.nanoseconds
        timer = RetransmissionTimer(roundTrip: roundTrip)
        pattern = LossPattern(loss, key: key)
        // BBR sends at the delivery rate, so retransmissions take their share of the link.
        let share = sender == .bbr ? 1 - loss.rate.fraction : 1
        let payload = Double(loss.link.bitsPerSecond) * share * Double(Self.segment) / Double(Self.frame)
        rate = BitRate(bitsPerSecond: max(1, Int64(min(payload, 9e18))))
        quantum = BandwidthStage.quantum(of: rate)
        // The link's queue holds as much as the path; BBR doesn't fill it.
        let inFlight = payload / 8 * Double(roundTrip) / 1e9 / Double(Self.segment)
        let largest = min(sender == .bbr ? inFlight : 2 * inFlight, Self.largestWindow)
        window = CongestionWindow(
            sender,
            roundTrip: roundTrip,
            largest: largest,
            lossEvents: loss.rate.fraction / Double(loss.burst)
        )
    }

    /// The end of the sent segments, including those after a hole.
    var sent: Int64 {
        guard hole != nil, let round else { return released }
        return max(released, round.end.addingSaturated(window.capacity * Self.segment))
    }

    /// The current window in bytes.
    var windowBytes: Int64 { Int64(window.segments) * Self.segment }

    /// Begins a new connection at an offset of the stream.
    mutating func begin(at offset: Int64, now: Int64) {
        released = offset
        round = nil
        hole = nil
        repaired = .min
        isBusy = false
        idleSince = now
        window.begin()
    }

    /// Delivers what may be delivered by `now` of the bytes up to `wanted`. Returns when to ask again if some have to wait,
    /// else `Int64.max`. `firstLoss` is set to the offset of the first new hole.
    ///
    /// - Parameter earliest: nothing was sent before this moment, because the sink didn't take bytes.
    mutating func deliver(upTo wanted: Int64, now: Int64, since earliest: Int64, firstLoss: inout Int64?) -> Int64 {
        guard released < wanted else { return idle(at: now) }
        if !isBusy {
            isBusy = true
            busySince = now
            if let last = round, hole == nil, last.end > released, now >= last.begin.addingSaturated(roundTrip) {
                beginRound(at: now)
            }
        }
        let limit = steps + Self.stepLimit
        while released < wanted {
            if steps >= limit { return now }
            steps += 1
            if let wake = step(upTo: wanted, now: now, since: earliest, &firstLoss) { return wake }
        }
        return idle(at: now)
    }

    /// Pauses delivery; segments in flight continue.
    mutating func pause(at now: Int64) {
        if isBusy { idleSince = now }
        isBusy = false
    }

    private mutating func idle(at now: Int64) -> Int64 {
        pause(at: now)
        return .max
    }

    /// Advances to the end of a hole, a round or the wanted bytes; returns when to continue if it has to wait.
    private mutating func step(
        upTo wanted: Int64,
        now: Int64,
        since earliest: Int64,
        _ firstLoss: inout Int64?
    ) -> Int64? {
        if var pending = hole {
            update(&pending, wanted: wanted, now: now)
            hole = pending
            guard pending.repair <= now else { return pending.repair }
            fill(pending, wanted: wanted)
            return nil
        }
        guard let current = round, released < current.end else {
            let start = nextStart(now: now, notBefore: earliest)
            guard start <= now else { return start }
            beginRound(at: start)
            return nil
        }
        let stop = min(current.end, wanted)
        let lost = pattern.firstRun(from: segments(released), before: segments(stop))
        let edge = lost.map { $0.first * Self.segment } ?? stop
        let line = rate.bytes(inNanoseconds: now.subtractingSaturated(current.begin))
        released = max(released, min(edge, current.base.addingSaturated(line).addingSaturated(quantum)))
        guard released == edge else {
            let bytes = min(edge, released + quantum) - quantum - current.base
            return max(now + 1, current.begin.addingSaturated(rate.nanoseconds(forBytes: bytes)))
        }
        if let lost {
            if firstLoss == nil { firstLoss = edge }
            hole = newHole(lost.first, lost.end, in: current, wanted: wanted)
        }
        return nil
    }

    // MARK: Rounds

    /// When the next round begins: after the last window's acknowledgement, or when the timer has fired.
    private func nextStart(now: Int64, notBefore floor: Int64) -> Int64 {
        guard let round else { return now }
        let start = max(round.begin.addingSaturated(duration(of: round)), round.resume, busySince)
        return max(start, repaired) < floor ? floor : start
    }

    private func duration(of round: Round) -> Int64 {
        max(roundTrip, rate.nanoseconds(forBytes: round.end - round.base))
    }

    private mutating func beginRound(at start: Int64) {
        if let round {
            window.take(
                CongestionWindow.Outcome(
                    sent: segments(released - round.base),
                    isFull: released >= round.end,
                    lost: round.lost,
                    hasTimedOut: round.hasTimedOut,
                    end: max(round.begin.addingSaturated(duration(of: round)), round.resume)
                )
            )
        }
        if start.subtractingSaturated(idleSince) > timer.first, start == busySince { window.restart() }
        round = Round(begin: start, base: released, end: released + window.capacity * Self.segment)
    }

    /// When a segment was or will be sent.
    private func sendTime(of segment: Int64, in round: Round, notBefore known: Int64) -> Int64 {
        let offset = segment * Self.segment
        let within = rate.nanoseconds(forBytes: min(offset, round.end) - round.base)
        let line = round.begin.addingSaturated(within)
        guard offset >= round.end else { return max(known, line) }
        let next = round.begin.addingSaturated(duration(of: round))
        return max(known, next.addingSaturated(rate.nanoseconds(forBytes: offset - round.end)))
    }

    // MARK: Holes

    private mutating func newHole(_ first: Int64, _ end: Int64, in round: Round, wanted: Int64) -> Hole {
        let flightEnd = min(segments(wanted), segments(round.end))
        let isWhole = released <= round.base && end >= flightEnd
        // After a whole flight is lost, single retransmissions probe the channel; the rest of the burst counts
        // with the first.
        let end = min(end, isWhole ? segments(wanted) : flightEnd)
        let sent = sendTime(of: first, in: round, notBefore: busySince)
        var hole = Hole(
            first: first,
            end: end,
            sent: sent,
            tookWholeFlight: isWhole,
            delay: 0,
            hasTimedOut: false,
            repair: .max,
            availableEnd: wanted
        )
        var repair = detection(of: hole, in: round, notBefore: busySince)
        hole.hasTimedOut = repair == nil
        steps += Int(end - first)
        for segment in first..<end {
            let count = pattern.failedRetransmissions(of: segment, afterWholeFlight: isWhole, limit: Self.retryLimit)
            steps += count
            guard count > 0 else { continue }
            let delay: Int64
            if sender == .bbr, repair != nil {
                delay = roundTrip * Int64(count)
            } else {
                let before = repair == nil ? 1 : 0
                delay = timer.elapsed(after: count + before) - timer.elapsed(after: before)
                hole.hasTimedOut = true
            }
            hole.delay = max(hole.delay, delay)
        }
        repair = repair ?? sent.addingSaturated(timer.first)
        hole.repair = (repair ?? .max).addingSaturated(hole.delay)
        return hole
    }

    /// When a hole is repaired if its retransmission arrives; `nil` if only the timer detects it.
    private func detection(of hole: Hole, in round: Round, notBefore known: Int64) -> Int64? {
        let available = segments(hole.availableEnd)
        let flightEnd = min(available, segments(round.end))
        guard flightEnd - round.base / Self.segment > 1, !hole.tookWholeFlight else { return nil }
        var moment = sendTime(of: flightEnd - 1, in: round, notBefore: known).addingSaturated(roundTrip * 2)
        if hole.end < available {
            let sent = sendTime(of: hole.end, in: round, notBefore: known)
            moment = min(moment, sent.addingSaturated(roundTrip + roundTrip / 4))
        }
        if hole.end + 2 < available {
            moment = min(moment, sendTime(of: hole.end + 2, in: round, notBefore: known).addingSaturated(roundTrip))
        }
        return moment
    }

    /// Recomputes the repair of a hole: more bytes after it may reveal it sooner.
    private func update(_ hole: inout Hole, wanted: Int64, now: Int64) {
        guard wanted > hole.availableEnd, let round else { return }
        hole.availableEnd = wanted
        guard hole.repair > now, let sooner = detection(of: hole, in: round, notBefore: now) else { return }
        hole.repair = min(hole.repair, sooner.addingSaturated(hole.delay))
    }

    private mutating func fill(_ filled: Hole, wanted: Int64) {
        hole = nil
        repaired = max(repaired, filled.repair)
        released = max(released, min(filled.end * Self.segment, wanted))
        guard var current = round else { return }
        current.lost += filled.end - filled.first
        current.end = max(current.end, released)
        if filled.hasTimedOut {
            current.hasTimedOut = true
            current.resume = max(current.resume, filled.repair)
        }
        round = current
    }

    /// The segments that begin below an offset.
    private func segments(_ offset: Int64) -> Int64 {
        let (whole, rest) = offset.quotientAndRemainder(dividingBy: Self.segment)
        return rest == 0 ? whole : whole + 1
    }
}
