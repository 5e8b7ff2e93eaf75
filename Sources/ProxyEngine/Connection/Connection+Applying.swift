import EventLoop
import FaultPlan
import StreamReading
import Units

/// A live connection that gets another generation of its plan.
extension Connection {
    /// Goes on with the faults of another plan from where it is. Bytes are moved in the next turn.
    func apply(_ change: PlanChange, at now: Moment) {
        switch state.phase {
        case .accepted, .hanging, .delayed, .retrying, .connecting, .flowing: break
        case .lingering, .blackholed, .closed: return
        }
        let client = change.asksForClient ? self.client.peerAddress?.host : nil
        let update = change.update(connection: ordinal, opened: opened, client: client)
        // Nothing ends and nothing begins.
        if update.isEmpty, state.hasNoFaults, up.link.isTransparent, down.link.isTransparent { return }
        follow(update, at: now)
        perform(state.updated(at: now))
    }

    private func follow(_ update: ConnectionUpdate, at now: Moment) {
        let wasBlackholed = up.link.isBlackholed || down.link.isBlackholed || up.link.isPaused || down.link.isPaused
        let stamped = (up.link.countsFromArrival, down.link.countsFromArrival)
        // Their faults may be gone afterwards.
        recordEvents(of: .upstream, at: now)
        recordEvents(of: .downstream, at: now)
        var interest = update.apply(to: &up.link, &down.link, at: now)
        // A response in the server's place waits for the responses in front of it.
        if state.requestToAnswer != nil { interest.messages = true }
        read(interest)
        state.update(update, passed: up.link.delivered + down.link.delivered, at: now)
        // `flow` has the arrivals stamped of a server that isn't connected yet.
        if up.link.countsFromArrival, !stamped.0 { client.stampArrivals() }
        if down.link.countsFromArrival, !stamped.1, server.isOpen { server.stampArrivals() }
        // The policy begins anew.
        if wasBlackholed { drain = nil }
    }
}
