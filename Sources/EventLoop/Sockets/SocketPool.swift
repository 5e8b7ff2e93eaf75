import Units

/// The sockets of a loop that have rested, see `StreamSocket.rest`, first in, first out.
///
/// Making a socket of the system, watching it and closing it again cost as much as a tenth of a short connection. One
/// whose connection has come to its regular end is connected anew instead. See docs/decisions/0018-sockets-again.md.
final class SocketPool: LoopHandler {
    /// The sockets of a loop that rest at most: 64, a descriptor each.
    static let limit = 64
    /// Sockets that nobody wanted for so long are closed, at the latest after twice that: 1 s.
    var patience: Int64 = 1_000_000_000

    /// The loop, which has this pool and outlives it.
    private unowned(unsafe) var loop: EventLoop?
    private var sockets: [StreamSocket] = []
    private var timer: LoopTimer?
    /// The least that rested since the timer was set: nobody has wanted those.
    private var unwanted = 0

    /// The sockets that rest.
    var count: Int { sockets.count }
    /// Whether another may rest.
    var hasRoom: Bool { sockets.count < SocketPool.limit }

    /// Begins to serve the loop.
    func serve(_ loop: EventLoop) { self.loop = loop }

    /// Keeps a socket that rests.
    func keep(_ socket: StreamSocket) {
        assert(hasRoom, "who keeps a socket asks for room before")
        sockets.append(socket)
        guard let loop, timer?.moment == nil else { return }
        let timer = self.timer ?? LoopTimer(loop: loop, handler: self, tag: 0, isCoarse: true)
        self.timer = timer
        unwanted = 0
        timer.set(to: loop.now.advanced(byNanoseconds: patience))
    }

    /// The socket that has rested longest; `nil` when there is none, or whoever closed it still holds it.
    func take() -> StreamSocket? {
        guard !sockets.isEmpty, isKnownUniquelyReferenced(&sockets[0]) else { return nil }
        let socket = sockets.removeFirst()
        unwanted = min(unwanted, sockets.count)
        return socket
    }

    override func timerFired(_ tag: Int) {
        for _ in 0..<min(unwanted, sockets.count) { sockets.removeFirst().closeResting() }
        unwanted = sockets.count
        guard let loop, !sockets.isEmpty else { return }
        timer?.set(to: loop.now.advanced(byNanoseconds: patience))
    }

    /// Closes all that rest.
    func drain() {
        for socket in sockets { socket.closeResting() }
        sockets = []
        unwanted = 0
    }

    /// Lets go of everything, when the loop ends.
    func close() {
        drain()
        timer?.cancel()
        timer = nil
    }
}
