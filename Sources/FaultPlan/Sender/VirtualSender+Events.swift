import Units

/// What happens to a sender, in order of time: acknowledgements that come, timers, and the times of a pace.
extension VirtualSender {
    /// When the link asks again: when something arrives or happens, but not more often than each grain. Inlined, because a
    /// call copies the sender.
    ///
    /// - Parameter event: when the next event is due.
    @inline(__always)
    func nextCall(after now: Int64, event: Int64) -> Int64 {
        var moment = event
        if awaited < holes.end, holes[awaited].start <= arrivedEnd {
            moment = min(moment, holes[awaited].repair)
        } else if arriving < flight.end {
            moment = min(moment, flight[arriving].arrival)
        }
        return max(moment, now.addingSaturated(grain))
    }

    enum Event { case nothing, acknowledgement, pace, reordering, probe, timer }

    /// The packets that the receiver acknowledges together, as far as they have been sent.
    struct Acknowledged {
        /// The number of the last of them; -1 if none has been sent that arrives.
        var last = -1
        /// Until when packets that arrive are among them.
        var due = Int64.max
        /// The number of the first packet that hasn't been looked at.
        var following: Int
        /// Whether that packet is acknowledged later, and so are all that follow.
        var isComplete = false
    }

    /// Works out what happens until `now`, each event at its own time. Returns when the next one is due; `Int64.max` if none
    /// is.
    @discardableResult
    mutating func run(until now: Int64, stop: Int) -> Int64 {
        while true {
            let (event, moment) = nextEvent()
            guard steps < stop, moment <= now, event != .nothing else { return moment }
            steps += 1
            switch event {
            case .nothing, .pace: break
            case .acknowledgement: acknowledge(through: acknowledged.last, at: moment)
            case .reordering: reorderingTimerFired(at: moment)
            case .probe: probe(at: moment)
            case .timer: timerFired(at: moment)
            }
            send(at: moment)
        }
    }

    /// The next event, and when it is due; `Int64.max` if there is none.
    @inline(__always)
    private mutating func nextEvent() -> (event: Event, moment: Int64) {
        var moment = nextAcknowledgement()
        var event = moment < .max ? Event.acknowledgement : .nothing
        func offer(_ other: Event, _ due: Int64) {
            if due < moment { (event, moment) = (other, due) }
        }
        if isPaced, !isSilent, canSend { offer(.pace, paceDue) }
        guard unacknowledged < next else { return (event, moment) }
        // No timer is due before the least time-out, and no probe before two round trips.
        if moment <= timerStart.addingSaturated(RetransmissionTimer.floor), reorderingDue == .max,
            moment.subtractingSaturated(probeStart) <= 2 * estimate.smoothed
        {
            return (event, moment)
        }
        if reorderingDue < .max { offer(.reordering, reorderingDue) }
        offer(.timer, timerStart.addingSaturated(inTicks(estimate.timeOut(backoff: backoff))))
        if phase == .open, suspects.isEmpty, reordered == 0, probeEnd < 0, backoff == 0 {
            let isSingle = next - unacknowledged <= Self.segment
            offer(.probe, probeStart.addingSaturated(inTicks(estimate.probeTimeOut(isSingle: isSingle))))
        }
        return (event, moment)
    }

    /// How long a timer takes that is set to `time`: whole ticks, and the rest of the tick in which it is set, which a draw for
    /// the next unacknowledged byte tells.
    func inTicks(_ time: Int64) -> Int64 {
        let rest = tickKey.fraction(at: unacknowledged) * Double(Self.tick)
        return TimerWheel.whole(time).addingSaturated(Int64(rest))
    }

    /// When the next acknowledgement comes, of packets up to `acknowledged.last`; `Int64.max` if none does.
    @inline(__always)
    private mutating func nextAcknowledgement() -> Int64 {
        while true {
            if !acknowledged.isComplete { gatherAcknowledged() }
            guard acknowledged.last >= 0 else { return .max }
            guard acknowledgementLosses?.isLost(acknowledgements) == true else {
                return acknowledged.due.addingSaturated(path.segmentTime).addingSaturated(roundTrip)
            }
            // A packet that is still to be sent may have a part in it.
            guard acknowledged.isComplete else { return .max }
            acknowledgements += 1
            acknowledged = Acknowledged(following: acknowledged.last + 1)
        }
    }

    /// Looks at packets that have been sent since the last call.
    @inline(__always)
    private mutating func gatherAcknowledged() {
        while acknowledged.following < flight.end {
            let number = acknowledged.following
            if !flight[number].isLost {
                if acknowledged.last >= 0, flight[number].arrival > acknowledged.due {
                    acknowledged.isComplete = true
                    return
                }
                acknowledged.last = number
                acknowledged.due = min(acknowledged.due, flight[number].acknowledgementDue)
            }
            acknowledged.following += 1
        }
    }
}
