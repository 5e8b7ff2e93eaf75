import EventLoop
import Units

/// Connections of which a peer has gone while bytes for it were still coming.
///
/// The other peer is told by a reset, behind what the one that has gone had sent before. Its own bytes aren't received
/// any more. A peer that sends without receiving would wait for ever then, so while it takes nothing, what it sends is
/// dropped, as the system of a peer that has gone does.
extension Connection {
    /// What has been done about a peer that takes nothing.
    struct Untaken {
        /// Receives in one turn at most: 8.
        static let roundLimit = 8

        var deadline: Moment
        /// What it had still to take when it was last looked at.
        var queued: Int
        /// The bytes of it that were dropped since it last took something.
        var dropped = 0
        /// Whether its stream has ended.
        var hasSentAll = false
    }

    /// Goes on to the end of a connection whose client or server has gone. Returns when to look again; `nil` if it is
    /// over.
    func bringDown() -> Moment? {
        if up.isAlive { return passOn(to: server) }
        if down.isAlive { return passOn(to: client) }
        switch (up.isSinkBroken, down.isSinkBroken) {
        case (true, true), (false, false):
            // Nobody is left who could be told more than that it is over.
            abandon(reset: true)
        case (true, false):
            server.reset()
            part(to: client, .reset)
        case (false, true):
            client.reset()
            part(to: server, .reset)
        }
        return nil
    }

    /// Waits until `peer` has taken what the other one had sent.
    private func passOn(to peer: StreamSocket) -> Moment? {
        if peer.isWritable {
            untaken = nil
            return .distantFuture
        }
        let now = loop.now
        let limits = shard.limits
        let queued = peer.queuedAtPeer()
        let deadline = now + limits.resetGrace
        var state = untaken ?? Untaken(deadline: deadline, queued: queued)
        if queued < state.queued {
            // It takes something, if not enough for the system to call it writable.
            (state.deadline, state.queued, state.dropped) = (deadline, queued, 0)
        }
        let hasGone = drop(from: peer, &state)
        untaken = state
        let hasTime = now < state.deadline && state.dropped <= limits.resetDropLimit
        guard !hasGone, hasTime else {
            let bytes = peer.unacknowledged()
            if !hasGone, bytes > 0 { shard.context.tell(.unacknowledgedAtReset(connection: ordinal, bytes: bytes)) }
            abandon(reset: true)
            return nil
        }
        if peer.isReadable, !state.hasSentAll { queueTurn() }
        return state.deadline
    }

    /// Receives what `peer` sends; returns whether it has gone as well.
    private func drop(from peer: StreamSocket, _ state: inout Untaken) -> Bool {
        for _ in 0..<Untaken.roundLimit where peer.isReadable && !state.hasSentAll {
            switch peer.receive(limit: EventLoop.scratchCapacity) {
            case .received(let count): state.dropped += count
            case .ended: state.hasSentAll = true
            case .wouldBlock: return false
            case .failed: return true
            }
        }
        return false
    }
}
