import Units

/// Decides when a connection whose ends are gone is released: one rule for every state.
///
/// A FIN doesn't tell a socket that was closed from one whose process goes on receiving (shutdown(2)). So an end that has
/// ended its stream is probed, where nothing else would tell, and counts as gone when a probe is answered by a reset or
/// not at all. Linux resets a probe to a socket that was closed 60 s ago.
///
/// | state | released |
/// |---|---|
/// | any | when both ends are gone |
/// | no server yet, or faults of a host hold the first bytes | when the client is gone; after 24 h |
/// | passing | when the client is gone and no byte has passed for 60 s |
/// | faults hold the client's bytes, which aren't read | 24 h after the last byte passed |
/// | blackholed for a time, or the server takes nothing | when the client is gone and no byte has passed for 15 min |
/// | severed, for good | when both ends have ended their streams and no byte is on its way; 15 min after one has, or the last byte passed; after 24 h |
/// | lingering | when the last end has taken everything, see `Linger` |
public struct DrainPolicy: Hashable, Sendable {
    /// The state of a connection as the policy sees it.
    public enum Situation: Hashable, Sendable, CaseIterable {
        /// No server is connected yet.
        case unconnected
        /// Bytes may pass.
        case passing
        /// Faults hold bytes of the client, which isn't read meanwhile, so its end may never be seen.
        case held
        /// The server has not acknowledged every byte.
        case unread
        /// A silent outage is in force, and may end.
        case blackholed
        /// A direction is dead for good: a cut by silence, or half-open.
        case severed
    }

    /// The knowledge about an end.
    public enum End: Hashable, Sendable, CaseIterable {
        /// Never connected.
        case absent
        /// May send.
        case open
        /// Has ended its stream (FIN), and may still receive.
        case ended
        /// Has reset the connection, answers no probe, or its socket is closed.
        case gone
    }

    /// A connection at one moment.
    public struct View: Hashable, Sendable {
        /// The state of the connection.
        public var situation: Situation
        /// The client.
        public var client: End
        /// The server.
        public var server: End
        /// The bytes of both directions that their receivers have acknowledged.
        public var passed: Int64

        /// Makes a view of its parts.
        public init(_ situation: Situation, client: End, server: End, passed: Int64 = 0) {
            (self.situation, self.client, self.server, self.passed) = (situation, client, server, passed)
        }

        /// Whether the policy has anything to watch: an end is not open, or the state itself is bounded.
        public var isOfConcern: Bool {
            switch situation {
            case .unconnected, .held, .severed: true
            case .passing, .unread, .blackholed: client != .open || server != .open
            }
        }
    }

    /// A decision of the policy.
    public enum Verdict: Hashable, Sendable {
        /// The connection is kept until the moment, unless an end changes.
        case keep(until: Moment)
        /// The connection is released; an end that is left is reset.
        case release
    }

    /// The time and the bytes that one end still gets to take the rest; `nil` while none has to be waited for.
    public var linger: Linger?
    /// The same for the other end, where both are drained.
    public var otherLinger: Linger?
    private let limits: DrainLimits
    private let begun: Moment
    /// The time since which an end has not been open.
    private var endedSince: Moment?
    private var passed: Int64
    private var idleSince: Moment

    /// The policy of a connection that is watched from `now` on.
    public init(_ limits: DrainLimits, beginning now: Moment, passed: Int64 = 0) {
        self.limits = limits
        begun = now
        self.passed = passed
        idleSince = now
    }

    /// Decides about the connection at `now`, which never goes back.
    public mutating func verdict(on view: View, at now: Moment) -> Verdict {
        note(view, at: now)
        guard let until = deadline(of: view), now < until else { return .release }
        return .keep(until: until)
    }

    /// The ends to probe: those that have ended their streams, where nothing else shows whether they are gone.
    ///
    /// A server is probed only when its client has ended as well, since an open client may still receive all that it has
    /// sent. A client whose bytes the server is slow to take isn't, because the server would be reset before it has them.
    public func probes(of view: View, at now: Moment) -> (client: Bool, server: Bool) {
        switch view.situation {
        case .severed:
            return (false, false)
        case .unread where now < quietSince + limits.blackholeGrace:
            return (false, false)
        case .unconnected, .passing, .held, .unread, .blackholed:
            let isClientGone = view.client == .ended || view.client == .gone
            return (view.client == .ended, view.server == .ended && isClientGone)
        }
    }

    /// The rank of the connection among those to release where descriptors or connections run short: 0 is first, `nil`
    /// never. Within a rank the oldest is first.
    public func shortageRank(of view: View, at now: Moment) -> Int? {
        switch (view.situation, view.client) {
        case (_, .open), (_, .absent), (.unread, .ended):
            return nil
        case (.passing, .ended), (.passing, .gone), (.held, .ended), (.held, .gone), (.unread, .gone):
            let isIdle = endedSince != nil && view.passed == passed && now >= quietSince + limits.shortageGrace
            return isIdle ? (view.client == .gone ? 0 : 2) : nil
        case (.unconnected, .gone), (.blackholed, .gone), (.severed, .gone):
            return 0
        case (.unconnected, .ended), (.blackholed, .ended), (.severed, .ended):
            return 1
        }
    }

    private mutating func note(_ view: View, at now: Moment) {
        if view.client == .ended || view.client == .gone || view.server == .ended || view.server == .gone {
            endedSince = endedSince ?? now
        }
        if view.passed != passed { (passed, idleSince) = (view.passed, now) }
    }

    /// The time since which an end has been gone or ended and no byte has passed.
    private var quietSince: Moment { max(endedSince ?? idleSince, idleSince) }

    /// The time of release if nothing changes; `nil` is at once.
    private func deadline(of view: View) -> Moment? {
        switch (view.situation, view.client, view.server) {
        case (_, .gone, .gone), (_, .gone, .absent), (_, .absent, _):
            nil
        case (.unconnected, .open, _), (.unconnected, .ended, _), (.unconnected, .gone, _):
            begun + limits.limit
        case (.severed, .open, .open), (.severed, .open, .absent):
            begun + limits.limit
        case (.severed, .ended, .ended), (.severed, .ended, .gone), (.severed, .gone, .ended):
            nil
        case (.severed, _, _):
            min(begun + limits.limit, quietSince + limits.blackholeGrace)
        case (.blackholed, .gone, _), (.unread, .gone, _):
            quietSince + limits.blackholeGrace
        case (.passing, .gone, _), (.held, .gone, _):
            quietSince + limits.goneGrace
        case (.held, .open, _), (.held, .ended, _):
            idleSince + limits.limit
        case (.passing, .open, _), (.passing, .ended, _), (.blackholed, .open, _), (.blackholed, .ended, _),
            (.unread, .open, _), (.unread, .ended, _):
            .distantFuture
        }
    }
}
