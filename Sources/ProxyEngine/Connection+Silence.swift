import EventLoop
import FaultPlan
import Units

/// Connections on which nothing happens, on purpose.
extension Connection {
    /// Waits until the client gives up or is to be connected after all.
    func keepHanging() {
        let now = loop.now
        if isInterrupted(at: now) { return }
        guard circumstances.hang.strike(at: now) != nil else {
            circumstances.vigil = nil
            open(at: now)
            return
        }
        guard let until = watch(at: now) else { return }
        let change = min(circumstances.hang.nextChange(after: now), circumstances.nextInterruption(after: now))
        setTimer(to: min(until, change))
    }

    func fallSilent(at now: Moment) {
        up.close(loop)
        down.close(loop)
        state = .silent
        circumstances.vigil = Vigil(beginning: now)
        keepSilent()
    }

    func keepSilent() {
        if let until = watch(at: loop.now) { setTimer(to: until) }
    }

    /// When to look again at peers that may give up; `nil` when they have, and the connection is over. A client
    /// without a server has given up when it has reset, because one that has ended its stream may go on reading.
    func watch(at now: Moment) -> Moment? {
        var vigil = circumstances.vigil ?? Vigil(beginning: now)
        let isServerGone = server.isOpen ? server.hasPeerGone : client.isBroken()
        let verdict = vigil.verdict(isClientGone: client.hasPeerGone, isServerGone: isServerGone, at: now)
        circumstances.vigil = vigil
        switch verdict {
        case .keep(let until): return until
        case .release:
            abandon(reset: true)
            return nil
        }
    }
}
