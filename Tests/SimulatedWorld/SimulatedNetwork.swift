import EventLoop
import Glibc
import Units

/// A system of one machine in memory, with a network around it: the proxy's sockets and pipes, and the ends of the peers
/// that they are connected to.
///
/// Nothing in it waits and nothing is drawn but from the seed. `Disturbances` says what goes wrong.
final class SimulatedNetwork: SimulatedSystem {
    enum Object {
        case listener(SimulatedListener)
        case socket(SimulatedSocket)
        case pipeInput(SimulatedPipe)
        case pipeOutput(SimulatedPipe)
    }

    /// A descriptor that a loop watches.
    struct Watch {
        let loop: Int
        let registration: Registration
        /// Whether the loop has something to be told of it.
        var isPending = false
    }

    var dice: Dice
    let disturbances: Disturbances
    var agenda = Agenda()
    private var clock = Moment(nanoseconds: 1_000_000_000)
    /// The open descriptors of the proxy.
    private(set) var objects: [Int32: Object] = [:]
    private var watches: [Int32: Watch] = [:]
    /// The watched descriptors that have something to tell, by loop, in the order in which they had.
    private var pending: [[Int32]]
    private var lastDescriptor: Int32 = 9
    private var lastPort: UInt16 = 30_000
    /// The listening sockets, by port.
    var listeners: [UInt16: SimulatedListener] = [:]
    /// The server behind the proxy: makes a peer for each connection to it.
    var serve: (SimulatedSocket) -> Void = { _ in }
    /// The calls so far: a bound on what a turn without an end can do.
    private(set) var calls = 0
    /// What the proxy did that no program may do, such as closing a descriptor twice.
    private(set) var violations: [String] = []
    /// Told of what happens, where somebody wants a trace.
    var trace: ((String) -> Void)?

    /// The calls of one world at most, beyond which a turn is taken for endless. Two rates in series that are about as fast
    /// let bytes pass one by one, and take some millions.
    static let callLimit = 30_000_000

    init(seed: UInt64, disturbances: Disturbances, loops: Int) {
        dice = Dice(seed: seed)
        self.disturbances = disturbances
        pending = [[Int32]](repeating: [], count: loops)
    }

    /// All ends that there were, which hold each other until `forgetAll`.
    private var ends: [SimulatedSocket] = []

    // MARK: The calls, see SimulatedNetwork+Calls.swift

    override func makeSocket(family: Int32) -> Int32 { makeSocketNow() }
    override func connect(_ descriptor: Int32, to address: SocketAddress) -> Int32 {
        connectNow(descriptor, to: address)
    }
    override func pendingError(_ descriptor: Int32) -> Int32 { pendingErrorNow(descriptor) }
    override func receive(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ limit: Int) -> Int {
        socket(descriptor).map { receiveNow($0, bytes, limit, isProxy: true) } ?? -1
    }
    override func send(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ length: Int) -> Int {
        let buffer = UnsafeRawBufferPointer(start: bytes, count: length)
        return socket(descriptor).map { sendNow($0, buffer, isProxy: true) } ?? -1
    }
    override func splice(from source: Int32, to sink: Int32, _ limit: Int) -> Int { spliceNow(source, sink, limit) }
    override func receivable(_ descriptor: Int32) -> Int32 { socket(descriptor).map { Int32($0.inbox.count) } ?? -1 }
    override func unacknowledged(_ descriptor: Int32) -> Int32 {
        socket(descriptor).map { Int32($0.flight.count) } ?? -1
    }
    override func shutdownWrite(_ descriptor: Int32) {
        guard let socket = socket(descriptor) else { return }
        trace?("shutdown \(descriptor)")
        shutdown(socket)
    }
    override func setLingerZero(_ descriptor: Int32) { socket(descriptor)?.closesByReset = true }
    override func setKeepAlive(seconds: Int, count: Int, _ descriptor: Int32) {
        if let socket = socket(descriptor) { probe(socket, every: Int64(seconds) * 1_000_000_000) }
    }
    override func localAddress(of descriptor: Int32) -> SocketAddress? {
        switch object(descriptor) {
        case .listener(let listener): SocketAddress(numericHost: "127.0.0.1", port: listener.port)
        case .socket(let socket): SocketAddress(numericHost: "127.0.0.1", port: socket.ports.own)
        case .pipeInput, .pipeOutput, nil: nil
        }
    }
    override func peerAddress(of descriptor: Int32) -> SocketAddress? {
        guard let socket = socket(descriptor), case .connected = socket.state else { return nil }
        return SocketAddress(numericHost: "127.0.0.1", port: socket.ports.other)
    }
    override func listen(on address: SocketAddress) -> Int32 { listenNow(on: address) }
    override func accept(_ descriptor: Int32) -> Int32 { acceptNow(descriptor) }
    override func setListening(_ descriptor: Int32, _ listening: Listening) { setListeningNow(descriptor, listening) }
    override func makePipe(size: Int) -> (input: Int32, output: Int32)? {
        if dice.once(in: disturbances.noPipe) || refusesDescriptor() { return nil }
        let pipe = SimulatedPipe(size: size)
        return (openDescriptor(.pipeInput(pipe)), openDescriptor(.pipeOutput(pipe)))
    }

    // MARK: Time

    /// The time, which passes as it is asked for.
    override var now: Moment {
        count()
        clock = clock.advanced(byNanoseconds: Int64(dice.number(20...120)))
        return clock
    }

    /// The time, without having it pass.
    var moment: Moment { clock }

    func advance(to moment: Moment) { clock = max(clock, moment) }

    func advance(by nanoseconds: Int) { clock = clock.advanced(byNanoseconds: Int64(nanoseconds)) }

    /// Counts a call, and ends the process where there is no end to them.
    func count() {
        calls += 1
        if calls > SimulatedNetwork.callLimit { RunningWorld.reportEndlessTurn() }
    }

    /// Does what is first in the agenda.
    func performNext() {
        switch agenda.removeFirst() {
        case .arrive(let socket): arrive(socket)
        case .answerConnect(let socket): answerConnect(socket)
        case .act(let peer): peer.act(at: moment)
        case .makeRoom(let socket): makeRoom(socket)
        case .run(let body): body()
        }
    }

    // MARK: Objects

    func openDescriptor(_ object: Object) -> Int32 {
        lastDescriptor += 1
        objects[lastDescriptor] = object
        return lastDescriptor
    }

    /// Whether a new descriptor is refused, and errno set.
    func refusesDescriptor() -> Bool {
        if objects.count >= disturbances.descriptorLimit || dice.once(in: disturbances.noDescriptor) {
            errno = EMFILE
            return true
        }
        return false
    }

    func makeEnd() -> SimulatedSocket {
        let end = SimulatedSocket(
            sendBuffer: dice.spread(disturbances.buffers),
            receiveBuffer: dice.spread(disturbances.buffers)
        )
        ends.append(end)
        return end
    }

    /// Lets go of everything, at the end of the world.
    func forgetAll() {
        for end in ends { (end.peer, end.actor) = (nil, nil) }
        ends = []
        agenda = Agenda()
        serve = { _ in }
    }

    func nextPort() -> UInt16 {
        lastPort = lastPort == .max ? 30_001 : lastPort + 1
        return lastPort
    }

    func note(_ violation: String) {
        violations.append(violation)
        trace?("violation: \(violation)")
    }

    /// The socket of an open descriptor; a use after the close is a violation.
    func socket(_ descriptor: Int32, _ call: String = #function) -> SimulatedSocket? {
        count()
        guard case .socket(let socket) = objects[descriptor] else {
            note("\(call) on descriptor \(descriptor), which is no open socket")
            errno = EBADF
            return nil
        }
        return socket
    }

    func object(_ descriptor: Int32) -> Object? { objects[descriptor] }

    override func close(_ descriptor: Int32) {
        count()
        guard let object = objects.removeValue(forKey: descriptor) else {
            return note("descriptor \(descriptor) is closed, and isn't open")
        }
        forgetWatch(descriptor)
        switch object {
        case .listener(let listener):
            listeners[listener.port] = nil
            for client in listener.queue { reset(client) }
            listener.queue = []
        case .socket(let socket):
            trace?("close \(descriptor)\(socket.closesByReset ? " by reset" : "")")
            closeEnd(socket)
        case .pipeInput(let pipe), .pipeOutput(let pipe):
            pipe.openEnds -= 1
            if pipe.openEnds == 0, !pipe.bytes.isEmpty { trace?("a pipe is closed with \(pipe.bytes.count) bytes") }
        }
    }

    /// The descriptors that are open.
    var openDescriptors: [Int32] { objects.keys.sorted() }

    // MARK: Readiness

    override func watch(_ descriptor: Int32, on loop: Int, _ registration: Registration) {
        count()
        guard objects[descriptor] != nil else { return note("descriptor \(descriptor) is watched, and isn't open") }
        watches[descriptor] = Watch(loop: loop, registration: registration)
        // Of what is ready already, the loop is told.
        if isReady(descriptor) { setPending(descriptor) }
    }

    override func unwatch(_ descriptor: Int32) {
        count()
        forgetWatch(descriptor)
    }

    private func forgetWatch(_ descriptor: Int32) {
        guard let watch = watches.removeValue(forKey: descriptor), watch.isPending else { return }
        pending[watch.loop].removeAll { $0 == descriptor }
    }

    private func isReady(_ descriptor: Int32) -> Bool {
        switch objects[descriptor] {
        case .socket(let socket): socket.readiness.isAny
        case .listener(let listener): listener.isReady
        case .pipeInput, .pipeOutput, nil: false
        }
    }

    /// Something has changed at a socket: whoever has it is told.
    func noteChange(_ socket: SimulatedSocket) {
        if socket.descriptor >= 0 {
            setPending(socket.descriptor)
        } else if let actor = socket.actor {
            actor.noteChange()
        }
    }

    func setPending(_ descriptor: Int32) {
        guard var watch = watches[descriptor], !watch.isPending else { return }
        watch.isPending = true
        watches[descriptor] = watch
        pending[watch.loop].append(descriptor)
    }

    /// Whether a loop has something to be told.
    func hasPending(_ loop: Int) -> Bool { !pending[loop].isEmpty }

    /// Tells a loop what is ready: all, or the first few, as the system has it.
    func callBack(_ loop: Int) {
        let all = pending[loop].count
        let count = dice.once(in: 3) ? dice.number(1...max(1, all)) : all
        let descriptors = Array(pending[loop].prefix(count))
        pending[loop].removeFirst(min(count, all))
        let told = descriptors.map { ($0, readiness($0)) }
        for (descriptor, readiness) in told {
            // A call before may have closed it, or ended the watch.
            guard var watch = watches[descriptor], watch.isPending else { continue }
            watch.isPending = false
            watches[descriptor] = watch
            trace?("loop \(loop): \(descriptor) \(readiness)")
            watch.registration.call(
                isReadable: readiness.isReadable,
                isWritable: readiness.isWritable,
                hasPeerEnded: readiness.hasPeerEnded,
                hasFailed: readiness.hasFailed
            )
            if !watch.registration.isEdgeTriggered, isReady(descriptor) { setPending(descriptor) }
        }
    }

    private func readiness(_ descriptor: Int32) -> SimulatedSocket.Readiness {
        switch objects[descriptor] {
        case .socket(let socket): socket.readiness
        case .listener(let listener): .init(isReadable: listener.isReady)
        case .pipeInput, .pipeOutput, nil: .init()
        }
    }
}

/// A listening socket.
final class SimulatedListener {
    let port: UInt16
    var listening = SimulatedSystem.Listening.accepting
    /// The proxy's ends of connections that nobody has accepted.
    var queue: [SimulatedSocket] = []
    var descriptor: Int32 = -1

    init(port: UInt16) {
        self.port = port
    }

    var isReady: Bool { listening == .accepting && !queue.isEmpty }
}

/// A pipe(7).
final class SimulatedPipe {
    var bytes: ByteRing
    var openEnds = 2

    init(size: Int) {
        bytes = ByteRing(capacity: size)
    }
}

/// How often something goes wrong: once in so many calls; 0 is never.
struct Disturbances {
    var shortReceive = 0
    var shortSend = 0
    /// A send is refused for the moment, although there is room (EAGAIN).
    var refusedSend = 0
    /// A call is interrupted (EINTR).
    var interrupted = 0
    /// A send finds no memory (ENOBUFS).
    var noBuffers = 0
    var shortSplice = 0
    var noSplice = 0
    var noPipe = 0
    var noDescriptor = 0
    var abortedAccept = 0
    var failedAccept = 0
    var refusedConnect = 0
    var lostConnect = 0
    /// The open descriptors of the proxy at most.
    var descriptorLimit = Int.max
    /// The room of a buffer of the system, in bytes.
    var buffers = 2_000...300_000
    /// The time on the way, in nanoseconds.
    var latency = 1_000...200_000
    /// How late a loop is woken, in nanoseconds.
    var lateness = 0...100_000

    /// Whether a call can fail in a way that ends a connection.
    var endsConnections: Bool {
        noBuffers > 0 || refusedConnect > 0 || lostConnect > 0 || noDescriptor > 0 || failedAccept > 0
            || descriptorLimit < .max || abortedAccept > 0
    }
}
