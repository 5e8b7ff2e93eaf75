import FaultProfile
import Units

/// A TCP sender on a lossy path, as far as a receiver of its stream can tell: it says up to where the
/// stream would have been delivered in order by now.
///
/// It works round by round. A round sends a window of segments at the rate of the link and lasts a round
/// trip, or as long as the link needs. The stream stops at a lost segment until that would have been
/// repaired; what the window allowed behind it counts as sent meanwhile and comes in one burst. A round, or
/// what lies between two losses, is worked out at once, so the work depends on losses and not on bytes.
///
/// What a hole costs follows RFC 8985 (RACK-TLP): a round trip after the third segment behind it, or a
/// quarter more after the first; at the tail of a flight, where nothing follows, two round trips; the
/// retransmission timer when it was alone in flight or was lost again. A loss that BBR sends again in vain
/// costs one more round trip, since it always has enough in flight to notice.
struct VirtualSender {
    /// The bytes of a segment.
    static let segment: Int64 = 1_448
    /// What a segment takes of a link: with the headers of TCP, IP and Ethernet.
    static let frame: Int64 = 1_514
    /// The retransmissions of a segment that are lost at most, as on Linux.
    static let retryLimit = 15
    /// The largest window, in segments: 1.4 TB.
    static let largestWindow = 1e9

    /// The rounds, holes and lost segments that are worked out at a time: 65,536. The others follow when it is asked again, at once.
    private static let stepLimit = 65_536

    /// A window of segments on its way.
    private struct Round {
        var begin: Int64
        var base: Int64
        var end: Int64
        var lost: Int64 = 0
        var hasTimedOut = false
        /// Before this moment nothing new is sent.
        var resume: Int64 = .min
    }

    /// Lost segments in a row, which hold the stream back.
    private struct Hole {
        var first: Int64
        var end: Int64
        /// When the first of them was sent.
        var sent: Int64
        var tookWholeFlight: Bool
        /// What lost retransmissions add.
        var delay: Int64
        var hasTimedOut: Bool
        var repair: Int64
        /// The bytes that were known to follow when `repair` was worked out.
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
    /// Whether bytes waited when it was last asked, since when, and since when none do.
    private var isBusy = false
    private var busySince: Int64 = 0
    private var idleSince: Int64 = 0
    /// How far the stream has come, in bytes.
    private(set) var released: Int64 = 0
    /// The rounds, holes and lost segments that were worked out so far, each with the times that it was lost.
    private(set) var steps = 0

    init(_ loss: Loss, key: RandomKey) {
        sender = loss.sender
        roundTrip = loss.roundTrip.nanoseconds
        timer = RetransmissionTimer(roundTrip: roundTrip)
        pattern = LossPattern(loss, key: key)
        // BBR sends as fast as what is delivered, so what is sent again takes its share of the link.
        let share = sender == .bbr ? 1 - loss.rate.fraction : 1
        let payload = Double(loss.link.bitsPerSecond) * share * Double(Self.segment) / Double(Self.frame)
        rate = BitRate(bitsPerSecond: max(1, Int64(min(payload, 9e18))))
        quantum = BandwidthStage.quantum(of: rate)
        // The queue in front of the link holds as much as the path; BBR doesn't fill it.
        let inFlight = payload / 8 * Double(roundTrip) / 1e9 / Double(Self.segment)
        let largest = min(sender == .bbr ? inFlight : 2 * inFlight, Self.largestWindow)
        window = CongestionWindow(
            sender,
            roundTrip: roundTrip,
            largest: largest,
            lossEvents: loss.rate.fraction / Double(loss.burst)
        )
    }

    /// How far the segments that were sent have come, those included that wait behind a hole.
    var sent: Int64 {
        guard hole != nil, let round else { return released }
        return max(released, round.end.addingSaturated(window.capacity * Self.segment))
    }

    /// The bytes of the window as it is.
    var windowBytes: Int64 { Int64(window.segments) * Self.segment }

    /// Begins a connection of its own at an offset of the stream, up to which it has come without this sender.
    mutating func begin(at offset: Int64, now: Int64) {
        released = offset
        round = nil
        hole = nil
        repaired = .min
        isBusy = false
        idleSince = now
        window.begin()
    }

    /// Delivers what may be delivered by `now` of the bytes up to `wanted`, and returns when to ask again if
    /// some of them have to wait, or `Int64.max`. `onLoss` is told the offset of each hole.
    ///
    /// - Parameter earliest: who is asked late, because nobody took the bytes, has sent nothing before.
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

    /// Nothing is to be delivered for now; what is on its way goes on.
    mutating func pause(at now: Int64) {
        if isBusy { idleSince = now }
        isBusy = false
    }

    private mutating func idle(at now: Int64) -> Int64 {
        pause(at: now)
        return .max
    }

    /// Goes on to the end of a hole, of a round or of what is wanted; returns when to go on if it has to wait.
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

    /// When the next round begins: when the window of the last has been acknowledged, or the timer has fired.
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

    /// When a segment was sent, or will be.
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
        // After a flight that was lost whole, one packet at a time finds out when the channel is good again;
        // the rest of the burst goes with it.
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

    /// When a hole is repaired if its retransmission arrives; `nil` where only the timer can tell of it.
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

    /// More bytes behind a hole may tell of it sooner.
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
