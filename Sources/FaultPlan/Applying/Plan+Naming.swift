import FaultProfile
import Units

/// Faults for the name in a client's first bytes, which is known when the connection lives already.
extension Plan {
    /// Whether the name in the client's first bytes brings faults to a connection.
    public func hasFaults(forNameOf ordinal: UInt64, _ facts: ConnectionFacts) -> Bool {
        asksForHost && prepared.contains { $0.isNamed(ordinal: ordinal, facts, key: connectionKey(ordinal)) }
    }

    /// The faults that the name in the client's first bytes brings to a live connection beside those that it has. They begin
    /// at its current position. To be called once for each connection.
    public mutating func update(
        ofConnection ordinal: UInt64,
        opened: Moment,
        _ facts: ConnectionFacts
    ) -> ConnectionUpdate {
        var draft = ConnectionDraft(ordinal: ordinal, opened: opened, phase: schedule.interval(at: opened).phase)
        let key = connectionKey(ordinal)
        add(prepared.indices, to: &draft, facts) { $0.isNamed(ordinal: ordinal, facts, key: key) }
        return ConnectionUpdate(PlanChange(keeping: self), draft)
    }
}
