import Units

/// The sockets of a busy loop that gave less than they were asked for, and so have nothing more, but perhaps an error
/// that came along with it.
///
/// A socket tells by an edge that something has come. A second receive finds out that there is nothing more, and costs a
/// call for each message. Where many sockets are served, the next message comes before anybody would miss that answer;
/// a socket from which none has come for a while is asked after all.
final class DeferredReadProbe: LoopHandler {
    /// How long a socket waits to be asked, at least; at most, twice as long: 10 ms, which are a tick.
    static let patience: Int64 = 10_000_000
    /// With so many sockets ready in a turn, a loop is busy: 4.
    static let busyTurn = 4

    /// The loop, which has this list and outlives it.
    private unowned(unsafe) var loop: EventLoop?
    /// Those that gave less than they were asked for; some have told something since. Not counted: a socket takes itself
    /// out before it goes.
    private var entries: [Unmanaged<StreamSocket>] = []
    private var timer: LoopTimer?
    /// The ticks so far in which a socket waited. In place of the time, which would have to be asked for.
    private var ticks: UInt32 = 0
    private var isTicking = false
    /// Sockets that were ready in this turn.
    var readySockets = 0
    /// Whether sockets may be doubted: many were ready in the last turn.
    private(set) var isBusy = false

    /// Begins to serve the loop.
    func serve(_ loop: EventLoop) { self.loop = loop }

    /// The socket will be asked again, unless it tells something before, which clears its `isDoubted`.
    func add(_ socket: StreamSocket) {
        socket.isDoubted = true
        socket.doubtedSince = ticks
        guard socket.doubtPlace < 0 else { return }
        socket.doubtPlace = Int32(entries.count)
        entries.append(.passUnretained(socket))
        if !isTicking { startTicking() }
    }

    /// Takes the socket out, if it is in the list.
    func remove(_ socket: StreamSocket) {
        let place = Int(socket.doubtPlace)
        guard place >= 0 else { return }
        socket.doubtPlace = -1
        socket.isDoubted = false
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        last._withUnsafeGuaranteedRef { $0.doubtPlace = Int32(place) }
    }

    /// Ends a turn of the loop.
    func endTurn() {
        isBusy = readySockets >= DeferredReadProbe.busyTurn
        readySockets = 0
    }

    override func timerFired(_ tag: Int) {
        isTicking = false
        ticks &+= 1
        // Who is asked gives everything.
        isBusy = false
        var place = entries.count - 1
        while place >= 0 {
            // Handlers may close sockets, and so shorten the list.
            if place < entries.count { entries[place]._withUnsafeGuaranteedRef { look(at: $0) } }
            place -= 1
        }
        if !entries.isEmpty, !isTicking { startTicking() }
    }

    /// Who has told something leaves the list; who hasn't is asked, if it came before the tick that ends.
    private func look(at socket: StreamSocket) {
        if !socket.isDoubted {
            remove(socket)
        } else if ticks &- socket.doubtedSince >= 2 {
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

    /// Lets go of the timer, when the loop ends.
    func close() {
        timer?.cancel()
        timer = nil
    }
}
