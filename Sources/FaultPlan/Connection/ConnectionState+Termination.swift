import FaultProfile
import Units

/// The faults that end a connection as a whole.
extension ConnectionState {
    /// Ends the connection if an outage, its age or idleness has it so at `now`; `nil` if not.
    ///
    /// - Parameter mayReconnect: notes the event; returns whether a client whose connection ends now, and that
    ///   reconnects at once, might find the listener still open although an outage refuses connections. The listener may
    ///   run on another loop, so the end waits for it.
    public mutating func terminated(at now: Moment, mayReconnect: (FaultEvent) -> Bool = { _ in false })
        -> ConnectionActions?
    {
        guard mayTerminate, now >= watch[0].safeUntil else { return nil }
        let lastPassed = watch[0].passed.moment
        guard let (event, how) = faults.terminators.event(at: now, lastPassed: lastPassed) else {
            watch[0].safeUntil = faults.terminators.nextChange(after: now, lastPassed: lastPassed)
            return nil
        }
        if case .flowing = phase, how != .silence, mayReconnect(event) {
            let pending = watch[0].endPendingSince
            let since = pending ?? now
            let deadline = since.advanced(byNanoseconds: ConnectionState.refusalPatience)
            if now < deadline {
                watch[0].endPendingSince = since
                return ConnectionActions(timer: deadline, pending == nil ? .awaitRefusal : .proceed)
            }
        }
        return end(how, by: event)
    }

    /// A fault that has lost bytes is gone at once, so a stream can't go on.
    public mutating func lostBytes() -> ConnectionActions { end(.close, by: nil) }

    private mutating func end(_ how: Cut.Ending, by event: FaultEvent?) -> ConnectionActions {
        var actions: ConnectionActions
        switch (how == .notify ? .close : how, phase) {
        case (.silence, _):
            actions = blackhole()
        case (.close, .flowing) where rules.closesAtOnce:
            actions = close(both: .close)
        case (.close, .replying), (.close, .flowing):
            actions = linger(.client, .closure, after: ConnectionActions(server: .endStream, client: .endStream))
        case (.close, .connecting):
            actions = linger(.client, .closure, after: ConnectionActions(server: .close, client: .endStream))
        case (.close, .accepted), (.close, .negotiating), (.close, .resolving), (.close, .held), (.close, .retrying):
            actions = linger(.client, .closure, after: ConnectionActions(client: .endStream))
        case (.reset, _), (.notify, _), (.close, .unreached), (.close, .cutPending), (.close, .lingering),
            (.close, .blackholed), (.close, .closed):
            actions = close(both: .reset)
        }
        actions.event = event
        return actions
    }

    /// The moment of the next look at what ends the connection; `distantFuture` when nothing can.
    public mutating func nextTermination(after now: Moment) -> Moment {
        guard mayTerminate else { return .distantFuture }
        let safeUntil = watch[0].safeUntil
        let change =
            now < safeUntil
            ? safeUntil : faults.terminators.nextChange(after: now, lastPassed: watch[0].passed.moment)
        return watch[0].spacing.wake(for: change, now: now)
    }
}
