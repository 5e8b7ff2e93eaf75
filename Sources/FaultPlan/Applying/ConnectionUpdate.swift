import FaultProfile
import Units

/// What another generation of a plan makes of one live connection: the faults that begin on it, and those that go on.
public struct ConnectionUpdate: Sendable {
    private let change: PlanChange
    private let upstream: LinkUpdate
    private let downstream: LinkUpdate
    private let terminators: [ConnectionTerminators.Source]
    private let opened: Moment
    /// What holds up the client's first bytes, where the name in them brings the faults; `nil` if nothing does.
    private let hold: DialHold?
    /// The faults of TLS itself, of a name in the ClientHello.
    public let handshake: HandshakeFaults
    /// The receive buffer towards the source of each direction, for faults that the name in the first bytes brings.
    public let receiveWindow: [Direction: ByteCount]

    init(_ change: PlanChange, _ draft: ConnectionDraft) {
        self.change = change
        opened = draft.opened
        terminators = draft.dialFaults.endings + draft.terminators
        hold = DialHold(draft.dialFaults, schedule: change.plan.schedule, opened: draft.opened)
        handshake = draft.dialFaults.handshake
        receiveWindow = draft.windows
        upstream = LinkUpdate(slots: draft.slots(.upstream), alterSlots: draft.alterSlots(.upstream))
        downstream = LinkUpdate(slots: draft.slots(.downstream), alterSlots: draft.alterSlots(.downstream))
    }

    /// Whether no fault begins on the connection.
    public var isEmpty: Bool {
        upstream.isEmpty && downstream.isEmpty && terminators.isEmpty && hold == nil
    }

    /// Has both links go on in the new generation at `now`, each from where it is.
    ///
    /// - Returns: what has to be read of the bytes from here on.
    public func apply(to up: inout Link, _ down: inout Link, at now: Moment) -> StreamInterest {
        let interest = interest(up, down)
        up.apply(upstream, change, messageFault: interest.fault, opened: opened, at: now)
        down.apply(downstream, change, messageFault: interest.fault, opened: opened, at: now)
        return interest.reading
    }

    /// What ends the connection as a whole from here on, where it was `last` so far.
    func terminators(after last: ConnectionTerminators) -> ConnectionTerminators {
        let kept = last.sources.filter { change.isKept($0.fault) }.map { source in
            ConnectionTerminators.Source(
                fault: source.fault,
                window: isBeginning(source.cause) ? source.window : change.plan.window(ofIdentity: source.fault),
                cause: source.cause
            )
        }
        return ConnectionTerminators(sources: kept + terminators, schedule: change.plan.schedule, opened: opened)
    }

    /// The wait in front of the connection's bytes from here on, where it was `last` so far; `nil` if there is none.
    func hold(after last: DialHold?) -> DialHold? { last.map { DialHold($0, after: change) } ?? hold }

    private func isBeginning(_ cause: ConnectionTerminators.Cause) -> Bool {
        if case .dial = cause { true } else { false }
    }

    /// What the faults that go on and those that begin have to know of the bytes, and the first that acts on messages.
    private func interest(_ up: Link, _ down: Link) -> (reading: StreamInterest, fault: Int?) {
        var reading = StreamInterest()
        var first: Int?
        for (link, update) in [(up, upstream), (down, downstream)] {
            let identities = link.faultIdentities.filter(change.isKept) + update.identities
            for identity in identities {
                let fault = change.plan.fault(identity)
                if let pattern = fault.kind.pattern {
                    reading.patterns[link.direction, default: []].append((identity, pattern))
                }
                guard fault.actsOnMessages else { continue }
                first = min(first ?? identity, identity)
                reading.messages = true
                if let condition = fault.condition.http { reading.add(condition) }
            }
        }
        return (reading, first)
    }
}

/// The faults that begin on one link.
struct LinkUpdate: Sendable {
    /// Those with stages, in their order.
    let slots: [Link.Slot]
    /// Those that change bytes.
    let alterSlots: [Link.AlterSlot]

    var isEmpty: Bool { slots.isEmpty && alterSlots.isEmpty }
    var identities: [Int] { slots.map(\.fault) + alterSlots.map(\.fault) }
}
