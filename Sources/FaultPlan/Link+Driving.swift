import Units

/// What the driver of a link does next.
public enum LinkStep: Hashable, Sendable {
    /// Sends up to this many bytes, above 0, and reports how many went (`Link.bytesDelivered`).
    case send(Int64)
    /// Takes up to this many bytes, above 0, from the source, and reports them (`Link.bytesArrived`) or the end
    /// (`Link.sourceEnded`).
    case receive(Int64)
    /// Waits for the source, the sink, or this moment.
    case wait(until: Moment)
    /// Ends the stream; returned once in a link's life, after its last byte was delivered.
    case end(Ending)
}

extension Link {
    /// The next step at `now`, which never goes back. The engine, forecasts and tests carry steps out until they have to wait.
    ///
    /// - Parameters:
    ///   - available: the bytes that wait in front of the link, or `uncounted`; `nil` if the source has neither bytes nor an
    ///     end, 0 if it may have either.
    ///   - canSend: whether the sink takes bytes.
    ///   - now: the time.
    public mutating func next(available: Int64?, canSend: Bool = true, now: Moment) -> LinkStep {
        step(after: decide(available: available ?? 0, now: now), available: available, canSend: canSend, now: now)
    }

    mutating func step(after decision: Decision, available: Int64?, canSend: Bool, now: Moment) -> LinkStep {
        if let end = decision.end { return .end(end) }
        let due = decision.writeOffset - delivered
        if due > 0, canSend {
            // Before the receiver can see what has happened.
            if !events.isEmpty { faults[0].setFlags(of: events) }
            return .send(due)
        }
        let wake = due > 0 ? sinkIsFull(at: now) : decision.wake
        // Only bytes that are dropped are taken past those that wait for the sink. Those that can't be sent at once stay with
        // the source, unless a delay holds them.
        guard let available, isDiscarding || due <= 0 && (takesAhead || held == 0 && canSend) else {
            return .wait(until: wake)
        }
        if decision.readLimit > 0 { return .receive(decision.readLimit) }
        // No byte is there to be counted, but the end may be; a receive of one byte finds out.
        return available == 0 && hasRoom ? .receive(1) : .wait(until: wake)
    }
}
