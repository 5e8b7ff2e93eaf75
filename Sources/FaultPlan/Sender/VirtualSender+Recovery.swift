import Units

/// What acknowledgements and timers tell a sender, and how it recovers.
extension VirtualSender {
    /// Takes an acknowledgement of the packets up to a number of the flight.
    mutating func acknowledge(through last: Int, at now: Int64) {
        acknowledgements += 1
        acknowledged = Acknowledged(following: last + 1)
        isSilent = false
        if isPlain { acknowledgePlain(through: last, at: now) } else { acknowledgeAny(through: last, at: now) }
    }

    /// Whether nothing is missing, and each packet on its way has bytes of its own that arrive.
    private var isPlain: Bool { holes.isEmpty && flight.start >= plainStart && phase == .open && !isPaced }

    /// What `acknowledgeAny` comes to while `isPlain`, which is nearly always where losses are rare.
    @inline(__always)
    private mutating func acknowledgePlain(through last: Int, at now: Int64) {
        let (oldest, newest) = (flight[flight.start].sent, flight[last].sent)
        let count = last + 1 - flight.start
        takePlain(through: last)
        delivered += Int64(count)
        estimate.add(now - oldest)
        unacknowledged = acknowledgedEnd
        (backoff, duplicates, reordered, reorderingDue) = (0, 0, 0, .max)
        (probeStart, timerStart) = (now, now)
        if probeEnd >= 0 { endProbe() }
        grow(count, newest, at: now)
    }

    private mutating func acknowledgeAny(through last: Int, at now: Int64) {
        let newest = flight[last].sent
        let sample = isPaced ? samples[last] : nil
        let (before, flightBefore, lostBefore) = (unacknowledged, pipe, markedCount)
        var (count, beyond) = (0, 0)
        var oldest: Int64?
        while flight.start <= last {
            let packet = takeFirst()
            if packet.isLost {
                notice(packet)
                continue
            }
            if packet.isAgain, packet.hole < 0 {
                pipe -= 1
                oldest = packet.sent
                continue
            }
            count += 1
            acknowledgedEnd = max(acknowledgedEnd, packet.end)
            if awaitedWhenAcknowledged < holes.end, holes[awaitedWhenAcknowledged].start < packet.start { beyond += 1 }
            if packet.isAgain {
                repair(packet.hole)
            } else {
                pipe -= 1
                if oldest == nil { oldest = packet.sent }
            }
        }
        delivered += Int64(count)
        if let oldest { estimate.add(now - oldest) }
        let awaited = awaitedWhenAcknowledged
        unacknowledged = max(before, awaited < holes.end ? min(holes[awaited].start, acknowledgedEnd) : acknowledgedEnd)
        let hasAdvanced = unacknowledged > before
        if hasAdvanced {
            backoff = 0
            duplicates = 0
            probeStart = now
            timerStart = now
        } else if awaited < holes.end, newest <= holes[awaited].sent {
            timerStart = now
        }
        if phase == .open { reordered += beyond }
        reorderingDue = .max
        if !suspects.isEmpty { judge(newest, at: now) }
        if probeEnd >= 0 { endProbe() }
        finishRecovery(at: now)
        if markedCount > 0, phase == .open { beginRecovery() }
        control(newest, sample, count, flightBefore, lost: max(0, markedCount - lostBefore), hasAdvanced, at: now)
        if !holes.isEmpty { forgetHoles() }
    }

    /// Notices that a later packet has arrived.
    private mutating func notice(_ packet: Transmission) {
        if packet.hole < 0 { pipe -= 1 }
        guard packet.hole >= holes.start else { return }
        let hole = holes[packet.hole]
        guard hole.state != .repaired, hole.state != .marked, hole.sent == packet.sent else { return }
        if phase == .open {
            if hole.state != .suspected { suspects.append(packet.hole) }
            holes[packet.hole].state = .suspected
        } else {
            mark(packet.hole)
        }
    }

    private mutating func repair(_ number: Int) {
        guard number >= holes.start, holes[number].state != .repaired else { return }
        if holes[number].state == .marked { markedCount -= 1 }
        if holes[number].state == .suspected { suspects.removeAll { $0 == number } }
        pipe -= holes[number].inPipe
        holes[number].inPipe = 0
        holes[number].state = .repaired
    }

    /// Marks a hole to be sent again.
    private mutating func mark(_ number: Int) {
        guard holes[number].state != .marked, holes[number].state != .repaired else { return }
        pipe -= holes[number].inPipe
        holes[number].inPipe = 0
        holes[number].state = .marked
        markedCount += 1
        firstMarked = min(firstMarked, number)
    }

    /// Decides which suspected holes are lost (RFC 8985, section 6.2).
    ///
    /// - Parameter newest: when the last acknowledged packet was sent.
    private mutating func judge(_ newest: Int64, at now: Int64) {
        let window = phase != .open || reordered >= Self.duplicateThreshold ? 0 : estimate.reorderingWindow
        let roundTrip = now - newest
        var (kept, longest) = (0, Int64(0))
        for index in suspects.indices {
            let number = suspects[index]
            if holes[number].sent + window <= newest {
                mark(number)
                continue
            }
            longest = max(longest, holes[number].sent + roundTrip + window - now)
            suspects[kept] = number
            kept += 1
        }
        suspects.removeLast(suspects.count - kept)
        if kept > 0 { reorderingDue = now + inTicks(longest + RoundTripEstimate.leastTimer) }
    }

    /// The time in which a packet may only have been late is over.
    mutating func reorderingTimerFired(at now: Int64) {
        reorderingDue = .max
        for number in suspects { mark(number) }
        suspects.removeAll(keepingCapacity: true)
        guard markedCount > 0, phase == .open else { return }
        beginRecovery()
        if !isPaced { window.segments = Double(pipe + 1) }
    }

    private mutating func beginRecovery() {
        phase = .recovery
        recoveryEnd = next
        (reductionStart, reductionDelivered, reductionSent) = (max(1, window.segments), 0, 0)
        reordered = 0
        model?.beginRecovery(window: window.segments)
        if !isPaced { window.decrease() }
    }

    private mutating func finishRecovery(at now: Int64) {
        guard phase != .open, unacknowledged >= recoveryEnd else {
            if phase == .open, unacknowledged >= acknowledgedEnd { reordered = 0 }
            return
        }
        if phase == .recovery, !isPaced { window.segments = window.threshold }
        phase = .open
        reordered = 0
    }

    /// A probe that repaired the tail shows that it was lost (RFC 8985, section 7.4).
    private mutating func endProbe() {
        guard unacknowledged >= probeEnd else { return }
        probeEnd = -1
        guard probeIsAgain, phase == .open, !isPaced else { return }
        window.decrease()
        window.segments = window.threshold
    }

    /// Sets the window. `newest` is when the last acknowledged packet was sent.
    private mutating func control(
        _ newest: Int64,
        _ rate: RateSample?,
        _ count: Int,
        _ flightBefore: Int,
        lost: Int,
        _ hasAdvanced: Bool,
        at now: Int64
    ) {
        if let rate {
            let interval = max(newest - rate.firstSent, now - rate.deliveredMoment)
            let bandwidth = Double(delivered - rate.delivered) / Double(max(1, interval))
            let sample = BottleneckModel.Sample(
                moment: now,
                bandwidth: interval >= estimate.least ? bandwidth : nil,
                deliveredBefore: rate.delivered,
                delivered: delivered,
                roundTrip: now - newest,
                flightBefore: flightBefore,
                flight: pipe,
                acknowledged: count,
                lost: lost,
                isRecovering: phase != .open,
                isStarved: rate.isStarved
            )
            window.segments = model?.receive(sample, window: window.segments) ?? window.segments
            if model?.isMeasuringRoundTrip == true { starvedUntil = delivered + Int64(pipe) + 1 }
        } else if phase == .recovery {
            reduce(count, lost: lost, hasAdvanced)
        } else if hasAdvanced {
            grow(count, newest, at: now)
        }
        (deliveredMoment, firstSent) = (now, newest)
    }

    /// Grows the window, if it was the limit.
    private mutating func grow(_ count: Int, _ newest: Int64, at now: Int64) {
        guard isLimited || window.segments < window.threshold && pipe * 2 >= Int(window.segments) else { return }
        window.receive(
            CongestionWindow.Acknowledgement(
                count: count,
                moment: now,
                roundTrip: now - newest,
                end: unacknowledged,
                sent: next
            )
        )
    }

    /// Proportional Rate Reduction (RFC 9937, section 6).
    private mutating func reduce(_ count: Int, lost: Int, _ hasAdvanced: Bool) {
        reductionDelivered += count
        let room = Int(window.threshold) - pipe
        var number: Int
        if room < 0 {
            let share = window.threshold * Double(reductionDelivered) / reductionStart
            number = Int(share.rounded(.up)) - reductionSent
        } else {
            number = max(reductionDelivered - reductionSent, count)
            if hasAdvanced, lost == 0 { number += 1 }
            number = min(room, number)
        }
        // The first retransmission is sent at once.
        window.segments = Double(pipe + max(number, reductionSent > 0 ? 0 : 1))
    }

    // MARK: Timers

    /// Sends a packet because no acknowledgement comes: a new one, or the last again (RFC 8985, section 7.3).
    mutating func probe(at now: Int64) {
        probeEnd = next
        probeIsAgain = false
        if hasUnsent {
            sendNew(at: now)
            probeEnd = next
        } else if !holes.isEmpty, holes[holes.end - 1].end == next, holes[holes.end - 1].state == .unnoticed {
            probeIsAgain = true
            sendAgain(holes.end - 1, at: now)
        } else if holes.isEmpty || holes[holes.end - 1].end < next {
            sendArrived(max(unacknowledged, next - Self.segment), next, at: now)
        }
        timerStart = now
    }

    /// The retransmission timer has fired: all that is missing counts as lost.
    mutating func timerFired(at now: Int64) {
        if !isFirstMissing { return acknowledgementsAreMissing(at: now) }
        if phase == .open || unacknowledged >= recoveryEnd {
            model?.beginRecovery(window: window.segments)
            if !isPaced { window.decrease() }
        }
        if !isPaced { window.timeOut() }
        model?.timeOut()
        phase = .timedOut
        recoveryEnd = next
        probeEnd = -1
        reordered = 0
        reorderingDue = .max
        suspects.removeAll(keepingCapacity: true)
        for number in holes.start..<holes.end { mark(number) }
        window.segments = Double(pipe + 1)
        backoff = min(backoff + 1, Self.retryLimit)
        timerStart = now
    }
    /// Whether the first byte that isn't acknowledged was lost, as far as acknowledgements tell.
    private var isFirstMissing: Bool {
        awaitedWhenAcknowledged < holes.end && holes[awaitedWhenAcknowledged].start <= unacknowledged
    }

    /// The timer has fired for bytes that have arrived. The answer to one packet shows that nothing was lost, so the window
    /// stays: Linux restores it then, by F-RTO (RFC 5682) or a duplicate SACK (RFC 2883).
    private mutating func acknowledgementsAreMissing(at now: Int64) {
        sendArrived(unacknowledged, min(unacknowledged + Self.segment, next), at: now)
        isSilent = true
        probeEnd = -1
        backoff = min(backoff + 1, Self.retryLimit)
        timerStart = now
    }
}
