import Units

/// Defers the second receive of sockets on a busy loop after a short read.
///
/// Sockets are watched edge-triggered. After a short read a second receive only finds that nothing more is there, or an
/// error that came along, and costs a call for each message. On a busy loop the next event usually comes first; a socket
/// without one for a while is read again.
final class DeferredReadProbe: LoopHandler {
    /// The tick: 10 ms. A socket is probed after one to two ticks.
    static let patience: Int64 = 10_000_000
    /// The ready sockets in a turn that make a loop busy: 4.
    static let busyTurn = 4

    /// The loop, which owns this list and outlives it.
    private unowned(unsafe) var loop: EventLoop?
    /// The sockets after a short read; some have had an event since. Unowned: a socket removes itself when it closes.
    private var entries: [Unmanaged<StreamSocket>] = []
    private var timer: LoopTimer?
    /// The number of ticks with waiting sockets, used as a cheap clock.
    private var ticks: UInt32 = 0
    private var isTicking = false
    // Read and set in single steps, for each event: no access to them can overlap another one.

    /// The number of ready sockets in this turn.
    @exclusivity(unchecked) var readySockets = 0
    /// Whether probes are deferred, because many sockets were ready in the last turn.
    @exclusivity(unchecked) private(set) var isBusy = false

    func serve(_ loop: EventLoop) { self.loop = loop }

    /// Adds a socket; an event before the probe clears its `awaitsProbe`.
    func add(_ socket: StreamSocket) {
        socket.awaitsProbe = true
        socket.probeTick = ticks
        guard socket.deferredReadIndex < 0 else { return }
        socket.deferredReadIndex = Int32(entries.count)
        entries.append(.passUnretained(socket))
        if !isTicking { startTicking() }
    }

    /// Removes the socket, if it is in the list.
    func remove(_ socket: StreamSocket) {
        let place = Int(socket.deferredReadIndex)
        guard place >= 0 else { return }
        socket.deferredReadIndex = -1
        socket.awaitsProbe = false
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        last._withUnsafeGuaranteedRef { $0.deferredReadIndex = Int32(place) }
    }

    func endTurn() {
        isBusy = readySockets >= DeferredReadProbe.busyTurn
        readySockets = 0
    }

    override func timerFired(_ tag: Int) {
        isTicking = false
        ticks &+= 1
        // A probe reads everything.
        isBusy = false
        var place = entries.count - 1
        while place >= 0 {
            // Handlers may close sockets and so shorten the list.
            if place < entries.count { entries[place]._withUnsafeGuaranteedRef { look(at: $0) } }
            place -= 1
        }
        if !entries.isEmpty, !isTicking { startTicking() }
    }

    /// Removes a socket with an event since, or probes one that has waited long enough.
    private func look(at socket: StreamSocket) {
        if !socket.awaitsProbe {
            remove(socket)
        } else if ticks &- socket.probeTick >= 2 {
            remove(socket)
            socket.askAgain()
        }
    }

    private func startTicking() {
        guard let loop else { return }
        isTicking = true
        let timer = self.timer ?? LoopTimer(loop: loop, handler: self, tag: 0, isCoarse: true)
        self.timer = timer
        timer.set(to: loop.now.advanced(byNanoseconds: DeferredReadProbe.patience))
    }

    /// Closes the timer when the loop ends.
    func close() {
        timer?.cancel()
        timer = nil
    }
}
