import EventLoop
import Units

/// Looks after the connections of a shard that wait for the upstream to answer: gives up those that wait too long.
///
/// One coarse timer for all of them, because nearly all are answered at once, and a timer each would be set for
/// nothing.
final class ConnectWatch: LoopHandler {
    /// The time between two looks, by which a time-out may come late: 100 ms.
    static let pause: Int64 = 100_000_000

    private let loop: EventLoop
    private var waiting: [Connection] = []
    private var timer: LoopTimer?

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Looks after `connection` as well, until it is removed.
    func add(_ connection: Connection) {
        guard connection.connectPlace < 0 else { return }
        connection.connectPlace = waiting.count
        waiting.append(connection)
        let timer = self.timer ?? LoopTimer(loop: loop, handler: self, tag: 0, isCoarse: true)
        self.timer = timer
        if timer.moment == nil { timer.set(to: loop.now.advanced(byNanoseconds: ConnectWatch.pause)) }
    }

    /// Looks after it no longer. Calling it twice is fine.
    func remove(_ connection: Connection) {
        let place = connection.connectPlace
        guard place >= 0 else { return }
        connection.connectPlace = -1
        let last = waiting.removeLast()
        guard last !== connection else { return }
        waiting[place] = last
        last.connectPlace = place
    }

    override func timerFired(_ tag: Int) {
        let now = loop.now
        for connection in waiting { connection.checkDialDeadline(now) }
        if !waiting.isEmpty { timer?.set(to: now.advanced(byNanoseconds: ConnectWatch.pause)) }
    }

    /// Lets go of the timer.
    func close() {
        timer?.cancel()
        timer = nil
    }
}
