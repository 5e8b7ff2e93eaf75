import EventLoop
import FaultPlan
import StreamReading
import Units

/// A live connection that gets another generation of its plan.
extension Connection {
    /// Goes on with the faults of another plan from where it is. Bytes are moved in the next turn.
    ///
    /// - Parameter last: the plan so far.
    func apply(_ change: PlanChange, after last: Plan, at now: Moment) {
        switch state.phase {
        case .accepted, .negotiating, .resolving, .held, .retrying, .connecting, .replying, .flowing: break
        case .unreached, .cutPending, .lingering, .blackholed, .closed: return
        }
        // Its plan will be one of the new generation.
        if ordinal == 0 { return }
        tls?.apply(change)
        // Their faults may be gone afterwards.
        for direction in Direction.allCases { recordEvents(of: direction, in: last, at: now) }
        if endsLoss(change, after: last, at: now) { return }
        let update = change.update(
            connection: ordinal,
            opened: opened,
            facts(withClient: change.asksForClient),
            on: layer
        )
        // Nothing ends and nothing begins.
        if update.isEmpty, state.hasNoFaults, up.link.isTransparent, down.link.isTransparent { return }
        apply(update, at: now)
        perform(state.updated(at: now))
        handOverAgain()
    }

    /// Closes the connection if a fault that loses bytes ends, see `EndingRules`; returns whether it did.
    private func endsLoss(_ change: PlanChange, after last: Plan, at now: Moment) -> Bool {
        let event: FaultEvent
        let direction: Direction
        let endsAll = shard.context.configuration.endings.endsWithDiscard
        if let loss = up.link.loss(endedBy: change, orRemoved: endsAll) {
            (event, direction) = (loss, .upstream)
        } else if let loss = down.link.loss(endedBy: change, orRemoved: endsAll) {
            (event, direction) = (loss, .downstream)
        } else {
            return false
        }
        record(event, direction, now, in: last)
        perform(state.lostBytes())
        return true
    }

    func apply(_ update: ConnectionUpdate, at now: Moment) {
        let wasBlackholed = up.link.isBlackholed || down.link.isBlackholed || up.link.isPaused || down.link.isPaused
        let stamped = (up.link.countsFromArrival, down.link.countsFromArrival)
        var interest = update.apply(to: &up.link, &down.link, at: now)
        readsMessages = interest.messages
        // A response in the server's place waits for the responses in front of it.
        if state.requestToAnswer != nil { interest.messages = true }
        read(interest)
        state.update(update, passed: up.link.passed + down.link.passed, at: now)
        // `flow` has the arrivals stamped of a server that isn't connected yet.
        if up.link.countsFromArrival, !stamped.0 { client.stampArrivals() }
        if down.link.countsFromArrival, !stamped.1, server.isOpen { server.stampArrivals() }
        // The policy begins anew.
        if wasBlackholed { drain = nil }
    }
}
