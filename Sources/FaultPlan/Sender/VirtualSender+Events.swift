import Units

/// What happens to a sender, in order of time: acknowledgements that come, timers, and the times of a pace.
extension VirtualSender {
    /// When the link asks again: when something arrives or happens, but not more often than each grain.
    mutating func nextCall(after now: Int64) -> Int64 {
        var moment = nextEvent()?.moment ?? .max
        if awaited < holes.end, holes[awaited].start <= arrivedEnd {
            moment = min(moment, holes[awaited].repair)
        } else if arriving < flight.end {
            moment = min(moment, flight[arriving].arrival)
        }
        return max(moment, now.addingSaturated(grain))
    }

    enum Event {
        case acknowledgement(through: Int)
        case pace
        case reordering
        case probe
        case timer
    }

    /// Works out what happens until `now`, each event at its own time.
    mutating func run(until now: Int64, stop: Int) {
        while steps < stop, let (event, moment) = nextEvent(), moment <= now {
            steps += 1
            switch event {
            case .acknowledgement(let last): acknowledge(through: last, at: moment)
            case .pace: break
            case .reordering: reorderingTimerFired(at: moment)
            case .probe: probe(at: moment)
            case .timer: timerFired(at: moment)
            }
            send(at: moment)
        }
    }

    mutating func nextEvent() -> (event: Event, moment: Int64)? {
        var found: (event: Event, moment: Int64)?
        if let (last, moment) = nextAcknowledgement() { found = (.acknowledgement(through: last), moment) }
        func offer(_ event: Event, _ moment: Int64) {
            if moment < found?.moment ?? .max { found = (event, moment) }
        }
        if isPaced, !isSilent, canSend { offer(.pace, paceDue) }
        guard unacknowledged < next else { return found }
        // No timer is due before the least time-out, and no probe before two round trips.
        let isNear = (found?.moment ?? .max) <= timerStart.addingSaturated(RetransmissionTimer.floor)
        if isNear, reorderingDue == .max, let moment = found?.moment, moment - probeStart <= 2 * estimate.smoothed {
            return found
        }
        if reorderingDue < .max { offer(.reordering, reorderingDue) }
        offer(.timer, timerStart.addingSaturated(estimate.timeOut(backoff: backoff)))
        if phase == .open, suspects.isEmpty, reordered == 0, probeEnd < 0, backoff == 0 {
            let isSingle = next - unacknowledged <= Self.segment
            offer(.probe, probeStart.addingSaturated(estimate.probeTimeOut(isSingle: isSingle)))
        }
        return found
    }

    /// The last packet of the next acknowledgement that comes, and when that is.
    private mutating func nextAcknowledgement() -> (last: Int, moment: Int64)? {
        while let first = arrived(from: max(acknowledging, flight.start)) {
            var (last, due) = (first, flight[first].acknowledgementDue)
            var following = arrived(from: last + 1)
            while let next = following, flight[next].arrival <= due {
                last = next
                due = min(due, flight[next].acknowledgementDue)
                following = arrived(from: last + 1)
            }
            guard acknowledgementLosses?.isLost(acknowledgements) == true else {
                return (last, due.addingSaturated(path.segmentTime).addingSaturated(roundTrip))
            }
            // A packet that is still to be sent may have a part in it.
            guard following != nil else { return nil }
            acknowledgements += 1
            acknowledging = last + 1
        }
        return nil
    }

    /// The first packet from `number` on that arrives. Inlined, because a call copies the sender.
    @inline(__always)
    private func arrived(from number: Int) -> Int? {
        var number = number
        while number < flight.end, flight[number].isLost { number += 1 }
        return number < flight.end ? number : nil
    }
}
