import Units

/// The sockets of a busy loop that gave less than they were asked for, and so have nothing more, but perhaps an error
/// that came along with it.
///
/// A socket tells by an edge that something has come. A second receive finds out that there is nothing more, and costs a
/// call for each message. Where many sockets are served, the next message comes before anybody would miss that answer;
/// a socket from which none has come for a while is asked after all.
final class DoubtList: LoopHandler {
    /// How long a socket waits to be asked, at least; at most, twice as long: 10 ms, which are a tick.
    static let patience: Int64 = 10_000_000
    /// With so many sockets ready in a turn, a loop is busy: 4.
    static let busyTurn = 4

    private struct Entry {
        /// Not counted: a socket takes itself out before it goes.
        let socket: Unmanaged<StreamSocket>
        let since: UInt64
    }

    /// The loop, which has this list and outlives it.
    private unowned(unsafe) var loop: EventLoop?
    private var entries: [Entry] = []
    private var timer: LoopTimer?
    /// The ticks so far in which a socket waited. In place of the time, which would have to be asked for.
    private var ticks: UInt64 = 0
    private var isTicking = false
    /// Sockets that were ready in this turn.
    var readySockets = 0
    /// The number of the loop's turn; after the last one comes 0.
    private(set) var turn: UInt32 = 0
    /// Whether sockets may be doubted: many were ready in the last turn.
    private(set) var isBusy = false

    /// Begins to serve the loop.
    func serve(_ loop: EventLoop) { self.loop = loop }

    /// The socket will be asked again, unless it tells something before.
    func add(_ socket: StreamSocket) {
        guard socket.doubtPlace < 0 else { return }
        socket.doubtPlace = entries.count
        entries.append(Entry(socket: .passUnretained(socket), since: ticks))
        if !isTicking { startTicking() }
    }

    /// Nothing has to be asked any more.
    func remove(_ socket: StreamSocket) {
        let place = socket.doubtPlace
        guard place >= 0 else { return }
        socket.doubtPlace = -1
        let last = entries.removeLast()
        guard place < entries.count else { return }
        entries[place] = last
        last.socket._withUnsafeGuaranteedRef { $0.doubtPlace = place }
    }

    /// Ends a turn of the loop.
    func endTurn() {
        isBusy = readySockets >= DoubtList.busyTurn
        readySockets = 0
        turn = turn == .max - 1 ? 0 : turn + 1
    }

    override func timerFired(_ tag: Int) {
        isTicking = false
        ticks += 1
        // Who is asked gives everything.
        isBusy = false
        var place = entries.count - 1
        while place >= 0 {
            // Handlers may close sockets, and so shorten the list. Who came within the tick that ends has to wait for another.
            if place < entries.count, ticks - entries[place].since >= 2 {
                let doubted = entries[place].socket
                doubted._withUnsafeGuaranteedRef { socket in
                    remove(socket)
                    socket.askAgain()
                }
            }
            place -= 1
        }
        if !entries.isEmpty, !isTicking { startTicking() }
    }

    private func startTicking() {
        guard let loop else { return }
        isTicking = true
        let timer = self.timer ?? LoopTimer(loop: loop, handler: self, tag: 0, isCoarse: true)
        self.timer = timer
        timer.set(to: loop.now.advanced(byNanoseconds: DoubtList.patience))
    }

    /// Gives room back that nobody uses.
    func shrink() {
        if entries.isEmpty { entries = [] }
    }

    /// Lets go of the timer, when the loop ends.
    func close() {
        timer?.cancel()
        timer = nil
    }
}
