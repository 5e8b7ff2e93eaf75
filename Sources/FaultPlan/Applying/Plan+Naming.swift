import FaultProfile
import Units

/// Faults for the name in a client's first bytes, which is known when the connection lives already.
extension Plan {
    /// Whether `name` may bring faults to a connection whose client has named `target`, if it has.
    public func hasFaults(forName name: HostName, besides target: HostName?) -> Bool {
        asksForHost && prepared.contains { $0.isFor(name: name, besides: target) }
    }

    /// The faults that `name`, in the first bytes of the client, brings to a live connection beside those that it has. They
    /// begin at its current position. To be called once for each connection.
    ///
    /// - Parameter target: the host that the client has named before, if it has; its faults are on the connection already.
    public mutating func update(
        ofConnection ordinal: UInt64,
        opened: Moment,
        client: String?,
        target: HostName?,
        name: HostName
    ) -> ConnectionUpdate {
        var draft = ConnectionDraft(ordinal: ordinal, opened: opened, phase: schedule.interval(at: opened).phase)
        let key = connectionKey(ordinal)
        let address = client.flatMap { IPAddress($0) }
        for (index, fault) in prepared.enumerated()
        where fault.isFor(name: name, besides: target)
            && fault.isHit(ordinal: ordinal, client: address, names: [name], key: key) && triggers.allow(index)
        {
            let rate = clientRate(of: fault, client: client)
            if fault.add(to: &draft, key: key, clientRate: rate, turn: turns[index]) { turns[index] += 1 }
        }
        return ConnectionUpdate(PlanChange(keeping: self), draft)
    }
}
