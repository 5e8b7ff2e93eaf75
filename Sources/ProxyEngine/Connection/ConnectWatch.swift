import EventLoop
import Units

/// Enforces the time limit of dialing for the connections of a shard.
///
/// One coarse timer serves all of them: nearly every dial succeeds at once, so a timer for each would be set in vain.
final class ConnectWatch: LoopHandler {
    /// The interval between two checks, by which a time-out may be late: 100 ms.
    static let interval: Int64 = 100_000_000

    private let loop: EventLoop
    private var dialing: [Connection] = []
    private var timer: LoopTimer?

    init(loop: EventLoop) {
        self.loop = loop
    }

    func add(_ connection: Connection) {
        guard connection.dialIndex < 0 else { return }
        connection.dialIndex = Int32(dialing.count)
        dialing.append(connection)
        let timer = self.timer ?? LoopTimer(loop: loop, handler: self, tag: 0, isCoarse: true)
        self.timer = timer
        if timer.moment == nil { timer.set(to: loop.now.advanced(byNanoseconds: ConnectWatch.interval)) }
    }

    /// Removes a connection. Calling it twice is fine.
    func remove(_ connection: Connection) {
        let place = Int(connection.dialIndex)
        guard place >= 0 else { return }
        connection.dialIndex = -1
        let last = dialing.removeLast()
        guard last !== connection else { return }
        dialing[place] = last
        last.dialIndex = Int32(place)
    }

    override func timerFired(_ tag: Int) {
        let now = loop.now
        for connection in dialing { connection.checkDialDeadline(now) }
        if !dialing.isEmpty { timer?.set(to: now.advanced(byNanoseconds: ConnectWatch.interval)) }
    }

    func close() {
        timer?.cancel()
        timer = nil
    }
}
