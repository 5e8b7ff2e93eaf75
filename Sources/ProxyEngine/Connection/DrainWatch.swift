import EventLoop
import Units

/// Looks at the connections of a shard now and then, for ends that are gone.
///
/// One coarse timer for all of them: a connection with both ends costs a look, and nothing else.
final class DrainWatch: LoopHandler {
    private unowned let shard: Shard
    private var timer: LoopTimer?

    init(_ shard: Shard) {
        self.shard = shard
    }

    /// Begins to look, if it doesn't yet.
    func start() {
        if timer?.moment != nil { return }
        let timer = self.timer ?? LoopTimer(loop: shard.loop, handler: self, tag: 0, isCoarse: true)
        self.timer = timer
        timer.set(to: shard.loop.now + shard.limits.lookInterval)
    }

    override func timerFired(_ tag: Int) {
        if shard.lookAtConnections() { start() }
    }

    /// Gives the timer up.
    func close() {
        timer?.cancel()
        timer = nil
    }
}
