import EventLoop
import Units

/// Applies the drain policy to the connections of a shard at intervals, with one coarse timer.
final class DrainWatch: LoopHandler {
    private unowned let shard: Shard
    private var timer: LoopTimer?

    init(_ shard: Shard) {
        self.shard = shard
    }

    /// Starts the timer unless it runs.
    func start() {
        if timer?.moment != nil { return }
        let timer = self.timer ?? LoopTimer(loop: shard.loop, handler: self, tag: 0, isCoarse: true)
        self.timer = timer
        timer.set(to: shard.loop.now + shard.limits.lookInterval)
    }

    override func timerFired(_ tag: Int) {
        if shard.lookAtConnections() { start() }
    }

    func close() {
        timer?.cancel()
        timer = nil
    }
}
