import EventLoop
import FaultPlan
import Units

/// Connections on which nothing happens, on purpose.
extension Connection {
    /// Waits until the client gives up or is to be connected after all.
    func keepHanging() {
        let now = loop.now
        if isTerminated(at: now) { return }
        guard circumstances.hang.event(at: now) != nil else {
            drain = nil
            open(at: now)
            return
        }
        if isDrained(at: now) { return }
        setTimer(to: min(circumstances.nextHangChange(after: now), circumstances.nextTermination(after: now)))
    }

    func fallSilent(at now: Moment) {
        up.close(loop)
        down.close(loop)
        // A connection that waited for its server waits no longer.
        shard.connectWatch.remove(self)
        state = .silent
        drain = nil
        setTimer(to: .distantFuture)
        _ = isDrained(at: now)
    }
}
