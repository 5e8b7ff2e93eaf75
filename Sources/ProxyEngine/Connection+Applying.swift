import EventLoop
import FaultPlan
import StreamReading
import Units

/// A live connection that gets another generation of its plan.
extension Connection {
    /// Goes on with the faults of another plan from where it is. Bytes are moved in the next turn.
    func apply(_ change: PlanChange, at now: Moment) {
        switch state {
        case .hanging, .delayed, .connecting, .flowing: break
        case .parting, .silent, .closed: return
        }
        let client = change.asksForClient ? self.client.peerAddress?.host : nil
        let update = change.update(connection: ordinal, opened: opened, client: client)
        if circumstances.isPlain, update.isEmpty { return }
        follow(update, at: now)
        goOn(at: now)
    }

    private func follow(_ update: ConnectionUpdate, at now: Moment) {
        let wasBlackholed = up.link.isDeaf || down.link.isDeaf || up.link.isSilent || down.link.isSilent
        let stamped = (up.link.countsFromArrival, down.link.countsFromArrival)
        // Their faults may be gone then.
        recordEvents(of: .upstream, at: now)
        recordEvents(of: .downstream, at: now)
        var interest = update.apply(to: &up.link, &down.link, at: now)
        // An answer in the server's place waits for the responses in front of it.
        if circumstances.answering != nil { interest.messages = true }
        // The one of plain connections is shared.
        if circumstances.isPlain { reader = StreamReader(StreamInterest()) }
        reader.follow(interest, upstream: up.link.taken, downstream: down.link.taken)
        circumstances = Circumstances(
            circumstances,
            update,
            reader: reader,
            passed: up.link.delivered + down.link.delivered,
            now: now
        )
        ownTimer()
        // Of one that isn't open yet `flow` has the arrivals stamped.
        if up.link.countsFromArrival, !stamped.0 { client.stampArrivals() }
        if down.link.countsFromArrival, !stamped.1, server.isOpen { server.stampArrivals() }
        // Whether its ends are gone is looked at anew.
        if wasBlackholed { drain = nil }
    }

    /// Gives a connection that had none a timer of its own, from when on faults concern it.
    private func ownTimer() {
        guard timer === shard.noTimer else { return }
        timer = lateTimer ?? LoopTimer(loop: loop, handler: self, tag: Tag.timer)
    }

    /// Does what the new plan has due.
    private func goOn(at now: Moment) {
        switch state {
        case .hanging:
            keepHanging()
        case .delayed(let until):
            if isTerminated(at: now) { return }
            // A wait for descriptors isn't one of a fault.
            if circumstances.connectDelay == nil, connectDeadline == .zero { return beginConnecting(at: now) }
            setTimer(to: min(until, circumstances.nextTermination(after: now)))
        case .connecting:
            if isTerminated(at: now) { return }
            setTimer(to: circumstances.nextTermination(after: now))
        case .flowing:
            queueTurn()
        case .parting, .silent, .closed:
            break
        }
    }
}
