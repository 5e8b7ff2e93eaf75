import CLibevent
import Glibc
import OperatingSystem
import Units

/// A connected, or connecting, socket of one loop, watched edge-triggered: TCP, or a Unix-domain stream socket.
///
/// `isReadable` and `isWritable` are cached readiness, cleared by EAGAIN; the handler is called when one becomes true. The
/// socket is registered once for all events, so that resets are noticed while nothing is read.
public final class StreamSocket {
    /// Longest trusted age of received bytes: 100 ms.
    private static let longestAge: Int64 = 100_000_000
    /// Longest trusted age after reordering: 1 ms, because stamps may be too old.
    private static let longestAgeOutOfOrder: Int64 = 1_000_000

    // Ordered by size to save memory: each connection has two such objects.

    /// The loop it belongs to.
    public let loop: EventLoop
    /// Kept here, because a reference through the loop would be counted.
    private let readProbe: DeferredReadProbe
    private let watcher: UnsafeMutablePointer<event>
    /// Unowned: reference counting would cost more than the call.
    private var handler: Unmanaged<LoopHandler>?
    private(set) var descriptor: Int32
    /// The index in the loop's list of deferred probes; −1 while absent.
    var deferredReadIndex: Int32 = -1
    /// The tick of the last short read.
    var probeTick: UInt32 = 0
    /// The limit of the receive buffer; 0 for the system's.
    private var receiveBuffer: Int32 = 0
    /// The error that broke the connection; the system reports it only once.
    private var failure: Failure?
    /// Carries the bytes in place of the system.
    private(set) var layer: SocketLayer?
    /// Sees what passes the system; `nil` on a socket with a layer, whose bytes pass the one below.
    private(set) var tap: SocketTap?
    private var tag: UInt8 = 0

    // Read and set in single steps, many times for each chunk: no access to them can overlap another one.
    @exclusivity(unchecked) private var readable = false
    @exclusivity(unchecked) private var writable = false
    @exclusivity(unchecked) private var peerEnded = false
    /// Whether no event has come since a short read.
    @exclusivity(unchecked) var awaitsProbe = false
    /// Whether an event since the last check may be an error.
    @exclusivity(unchecked) private var hasNews = false
    private var stampsArrivals = false
    /// Whether a layer carries the bytes in place of the system.
    @exclusivity(unchecked) private(set) var isLayered = false
    @exclusivity(unchecked) private var isTapped = false
    /// Whether it is a Unix-domain socket, see `StreamSocket+Unix`.
    public private(set) var isUnix = false
    /// Whether the system probes the peer, see `probe`.
    public internal(set) var hasKeepAlive = false

    /// A compact system error.
    private struct Failure {
        enum Call: UInt8 { case connect, recv, send, getsockopt }
        private let number: Int16
        private let call: Call

        init(call: Call, code: Int32) {
            number = Int16(clamping: code)
            self.call = call
        }

        var code: Int32 { Int32(number) }
        var error: SystemError { SystemError(call: "\(call)", code: code) }
    }

    /// Takes over an accepted connection; `nil` if it has been taken already.
    public convenience init?(_ detached: DetachedSocket, on loop: EventLoop) {
        let descriptor = detached.take()
        guard descriptor >= 0 else { return nil }
        // TCP_NODELAY is inherited from the listener, see tcp(7).
        self.init(descriptor, loop)
        isUnix = detached.isUnix
    }

    /// Makes a closed socket, to be opened by `connect`.
    public convenience init(closedOn loop: EventLoop) { self.init(-1, loop) }

    /// Starts connecting a closed socket to `address`. Once watched, the handler is called when that has succeeded or failed,
    /// and reads `connectionError`.
    ///
    /// A `receiveBuffer` in bytes, 1 or more, applies from the first segment.
    ///
    /// - Throws: `SystemError` of socket(2) or connect(2) if it fails at once; the socket is then closed.
    public func connect(to address: SocketAddress, receiveBuffer: Int? = nil) throws(SystemError) {
        loop.preconditionOnLoop()
        precondition(!isOpen, "a socket is closed before it connects anew")
        let descriptor = try made(for: address)
        isUnix = address.unix != nil
        if let receiveBuffer { loop.system.setReceiveBuffer(receiveBuffer, descriptor) }
        loop.system.endPacing(descriptor, for: address)
        if loop.system.connect(descriptor, to: address) != 0, errno != EINPROGRESS, errno != EINTR {
            let error = SystemError.last("connect")
            loop.system.close(descriptor)
            throw error
        }
        if !isUnix { loop.system.setNoDelay(descriptor) }
        self.descriptor = descriptor
        (failure, hasNews, peerEnded) = (nil, false, false)
    }

    private func made(for address: SocketAddress) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try loop.system.makeSocket(family: address.family)
        } catch {
            // Possibly out of descriptors.
            guard loop.hasUnusedPipes else { throw error }
            loop.giveBackPipes()
            return try loop.system.makeSocket(family: address.family)
        }
    }

    /// Takes over a connection for a closed socket, with the settings that it was given; returns `false` if another one has taken
    /// it already.
    public func open(_ detached: DetachedSocket) -> Bool {
        loop.preconditionOnLoop()
        precondition(!isOpen, "a socket is closed before it is opened anew")
        let next = detached.take()
        guard next >= 0 else { return false }
        descriptor = next
        isUnix = detached.isUnix
        (failure, hasNews, peerEnded, hasKeepAlive) = (nil, false, false, false)
        if receiveBuffer > 0 { setReceiveBuffer(Int(receiveBuffer)) }
        if stampsArrivals { stampArrivals() }
        return true
    }

    private init(_ descriptor: Int32, _ loop: EventLoop) {
        loop.preconditionOnLoop()
        self.descriptor = descriptor
        self.loop = loop
        readProbe = loop.readProbe
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: event())
    }

    /// Registers the socket with its loop, once: from now on `handler` is called with `tag`, 0 to 255. The handler must live
    /// until the socket is closed.
    public func watch(by handler: LoopHandler, tag: Int) {
        loop.preconditionOnLoop()
        precondition(self.handler == nil, "a socket is watched by one handler, once")
        self.handler = .passUnretained(handler)
        self.tag = UInt8(tag)
        if let layer { return layer.watched() }
        loop.system.watch(
            watcher,
            of: loop,
            descriptor,
            Int16(EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST),
            { _, what, context in
                guard let context else { return }
                Unmanaged<StreamSocket>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.fire(Int32(what)) }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        precondition(descriptor < 0, "a socket is closed before it is let go")
        watcher.deallocate()
    }

    /// Whether bytes, the end, or an error may be there to receive.
    public var isReadable: Bool { readable }
    /// Whether there may be room to send.
    public var isWritable: Bool { writable }
    /// Whether the peer has ended its stream (FIN), received or not.
    public var hasPeerEnded: Bool { peerEnded }

    /// Whether the socket has not been closed by this side.
    public var isOpen: Bool { descriptor >= 0 || isLayered }
    /// Whether the system may splice the bytes (splice(2)).
    public var canSplice: Bool { !isLayered && !isTapped }

    /// Has `tap` see what passes the socket from now on, until it is closed.
    public func add(_ tap: SocketTap) {
        loop.preconditionOnLoop()
        precondition(isOpen && !isLayered, "what passes a layer passes the socket below")
        (self.tap, isTapped) = (tap, true)
    }

    func take(_ layer: SocketLayer) {
        self.layer = layer
        isLayered = true
        (failure, hasNews, peerEnded) = (nil, false, false)
    }

    func noteEmpty() { readable = false }

    /// Notes the result of a send of `length` bytes by a layer.
    func noted(_ result: SendResult, of length: Int) -> SendResult {
        switch result {
        case .sent(let count) where count == length: break
        case .sent, .wouldBlock: writable = false
        case .failed: break
        }
        return result
    }

    /// Why connecting failed; `nil` if it succeeded. To be read at the first call of the handler.
    ///
    /// A reset after connecting isn't a failure: bytes sent before it are received first.
    public func connectionError() -> SystemError? {
        if let layer { return layer.connectionError() }
        // An error also makes the socket readable; if only writable, it has connected.
        guard readable || !writable, let failure = pendingError(.connect) else {
            if isConnectedToItself {
                // An orderly close would keep the server's port in TIME-WAIT.
                loop.system.setLingerZero(descriptor)
                return remembered(Failure(call: .connect, code: ECONNREFUSED))
            }
            tap?.connected()
            return nil
        }
        // A refusal is ECONNREFUSED.
        if failure.code == ECONNRESET || failure.code == EPIPE {
            tap?.connected()
            _ = remembered(Failure(call: .recv, code: failure.code))
            return nil
        }
        return remembered(failure)
    }

    /// Whether the socket has got the port that it dials, where nobody listens, and its SYN has come back to it (simultaneous
    /// open, RFC 9293, section 3.5).
    private var isConnectedToItself: Bool {
        guard !isUnix, let local = loop.system.localAddress(of: descriptor) else { return false }
        return local == loop.system.peerAddress(of: descriptor)
    }

    private func pendingError(_ call: Failure.Call) -> Failure? {
        let code = loop.system.pendingError(descriptor)
        return code == 0 ? nil : Failure(call: call, code: code)
    }

    /// Receives up to `limit` bytes, 1 or more, into the loop's scratch buffer at `offset`; the chunk is of these alone.
    public func receive(limit: Int, behind offset: Int = 0) -> ReceiveResult {
        loop.preconditionOnLoop()
        precondition(offset >= 0 && offset < EventLoop.scratchCapacity, "outside the scratch")
        let room = min(limit, EventLoop.scratchCapacity - offset)
        if isLayered, let layer { return receive(limit: room, behind: offset, from: layer) }
        var arrival: Moment?
        let count =
            stampsArrivals
            ? receiveStamped(room, behind: offset, &arrival)
            : loop.system.receive(descriptor, loop.scratch + offset, room)
        if count > 0 {
            if isTapped { tell(received: count, at: offset) }
            if count < room, !peerEnded, readProbe.isBusy {
                readable = false
                readProbe.add(self)
            }
            return .received(Chunk(count: count, arrival: arrival, endFollows: count < room && peerEnded))
        }
        return nothingReceived(count)
    }

    /// Like `receive`, and sets the arrival of the last byte.
    @inline(never)
    private func receiveStamped(_ room: Int, behind offset: Int, _ arrival: inout Moment?) -> Int {
        var age: Int64 = 0
        // The control buffer would make this process own descriptors that a Unix peer passes (SCM_RIGHTS, unix(7)).
        let count =
            isUnix
            ? loop.system.receive(descriptor, loop.scratch + offset, room)
            : loop.system.receiveStamped(descriptor, loop.scratch + offset, room, &age)
        guard count > 0 else { return count }
        // Bounded, because the stamp's clock may be set.
        age = min(max(0, age), StreamSocket.longestAge)
        if age > StreamSocket.longestAgeOutOfOrder, loop.system.outOfOrder(descriptor) != 0 { age = 0 }
        arrival = loop.now.advanced(byNanoseconds: -age)
        return count
    }

    /// The result of a call that received no byte, or failed with errno.
    @inline(__always)
    private func nothingReceived(_ count: Int) -> ReceiveResult {
        if count == 0 {
            tap?.ended()
            // A closed peer answers a probe with a reset, after its end of stream.
            if hasKeepAlive { return .ended }
            return failure.map { .failed($0.error) } ?? .ended
        }
        switch errno {
        case EAGAIN:
            readable = false
            // An error would have been returned in its place.
            hasNews = false
            return .wouldBlock
        default:
            return .failed(remembered(Failure(call: .recv, code: errno)))
        }
    }

    /// Splices up to `limit` bytes, 1 or more, into an empty pipe; `nil` if unsupported.
    func receive(into pipe: Int32, limit: Int) -> SpliceResult? {
        loop.preconditionOnLoop()
        let count = loop.system.splice(from: descriptor, to: pipe, limit)
        if count > 0 { return .received(count) }
        if count == 0 { return .nothing }
        return switch errno {
        case EAGAIN: .nothing
        case EINVAL, ENOSYS, EPERM: nil
        default: .failed(remembered(Failure(call: .recv, code: errno)))
        }
    }

    /// Splices up to `length` bytes, 1 or more, out of a pipe.
    func send(from pipe: Int32, length: Int) -> SendResult {
        loop.preconditionOnLoop()
        let count = loop.system.splice(from: pipe, to: descriptor, length)
        // A short splice says nothing about the socket; only EAGAIN means full.
        return count > 0 ? .sent(count) : sent(count, of: length)
    }

    /// Sends `length` bytes of the loop's scratch buffer at `offset`. With `endFollows` they may share a packet with the end
    /// of the stream, which the caller sends at once (MSG_MORE, send(2)).
    public func sendScratch(from offset: Int, length: Int, endFollows: Bool = false) -> SendResult {
        loop.preconditionOnLoop()
        precondition(offset >= 0 && length > 0 && offset + length <= EventLoop.scratchSize, "outside the scratch")
        if isLayered, let layer { return send(from: offset, length: length, by: layer) }
        let result = sent(loop.system.send(descriptor, loop.scratch + offset, length, more: endFollows), of: length)
        if isTapped { tell(result, of: UnsafeRawBufferPointer(start: loop.scratch + offset, count: length)) }
        return result
    }

    func send(_ vectors: UnsafeMutableBufferPointer<iovec>, used: Int) -> SendResult {
        loop.preconditionOnLoop()
        if isLayered, let layer { return send(vectors, used: used, by: layer) }
        let length = vectors.prefix(used).reduce(0) { $0 + $1.iov_len }
        let result = sent(loop.system.send(descriptor, vectors, used: used), of: length)
        if isTapped { tell(result, of: vectors.prefix(used)) }
        return result
    }

    /// Sends bytes of another place than the scratch buffer.
    func send(_ bytes: UnsafeRawBufferPointer) -> SendResult {
        guard let start = bytes.baseAddress else { return .wouldBlock }
        let result = sent(loop.system.send(descriptor, start, bytes.count, more: false), of: bytes.count)
        if isTapped { tell(result, of: bytes) }
        return result
    }

    /// Whether the connection is broken, usually by a reset. A system call, because after the peer's end of stream a receive
    /// doesn't report a reset.
    public func isBroken() -> Bool {
        if let layer { return layer.failure() != nil }
        if failure != nil { return true }
        guard hasNews else { return false }
        hasNews = false
        failure = pendingError(.getsockopt)
        if let failure { tap?.failed(failure.code) }
        return failure != nil
    }

    /// Ends this side's stream (FIN) after what was sent. A closed socket stays as it is.
    public func shutdownWrite() {
        loop.preconditionOnLoop()
        guard isOpen else { return }
        if let layer { return layer.shutdownWrite() }
        loop.system.shutdownWrite(descriptor)
        tap?.finished()
    }

    /// Closes the socket; what was sent is still delivered. Calling it twice is fine.
    public func close() { close(reset: false) }

    private func close(reset: Bool) {
        loop.preconditionOnLoop()
        if isLayered { return leaveLayer { $0.close() } }
        guard descriptor >= 0 else { return }
        if let tap {
            tap.closed(reset: reset)
            (self.tap, isTapped) = (nil, false)
        }
        // Closing first is cheaper: epoll forgets the socket by itself.
        loop.system.close(descriptor)
        if handler != nil { loop.system.unwatch(watcher) }
        forgetDescriptor()
    }

    /// Closes the socket with a reset (RST); unacknowledged bytes are lost. For Unix-domain sockets see `StreamSocket+Unix`.
    public func reset() {
        loop.preconditionOnLoop()
        if isLayered { return leaveLayer { $0.reset() } }
        guard descriptor >= 0 else { return }
        if !isUnix { loop.system.setLingerZero(descriptor) }
        close(reset: !isUnix)
    }

    /// Moves an open connection of the system to another socket, which isn't watched yet. This one is closed then.
    public func moved() -> StreamSocket {
        loop.preconditionOnLoop()
        precondition(isOpen && !isLayered, "only a connection of the system is moved")
        let other = StreamSocket(descriptor, loop)
        (other.isUnix, other.receiveBuffer, other.stampsArrivals) = (isUnix, receiveBuffer, stampsArrivals)
        (other.failure, other.hasKeepAlive) = (failure, hasKeepAlive)
        (other.tap, other.isTapped) = (tap, isTapped)
        (tap, isTapped, hasKeepAlive) = (nil, false, false)
        // While the descriptor is open.
        if handler != nil { loop.system.unwatch(watcher) }
        forgetDescriptor()
        return other
    }

    private func forgetDescriptor() {
        if deferredReadIndex >= 0 { readProbe.remove(self) }
        handler = nil
        descriptor = -1
        readable = false
        writable = false
    }

    private func leaveLayer(_ body: (SocketLayer) -> Void) {
        guard let layer else { return }
        layer.carried = nil
        (self.layer, isLayered, handler, readable, writable) = (nil, false, nil, false, false)
        body(layer)
    }

    /// Limits the kernel's receive buffer, in bytes, 1 or more (SO_RCVBUF, tcp(7)). An already advertised window stays.
    public func setReceiveBuffer(_ bytes: Int) {
        loop.preconditionOnLoop()
        receiveBuffer = Int32(clamping: bytes)
        guard isOpen else { return }
        if let layer { return layer.setReceiveBuffer(bytes) }
        loop.system.setReceiveBuffer(bytes, descriptor)
    }

    /// Makes `receive` set `Chunk.arrival` from the system's time stamps (SO_TIMESTAMPNS, socket(7)).
    ///
    /// Unix-domain sockets and layers have no stamps; their bytes count as arriving when received.
    public func stampArrivals() {
        loop.preconditionOnLoop()
        guard !isLayered else { return }
        stampsArrivals = true
        if descriptor >= 0, !isUnix { loop.system.stampArrivals(descriptor) }
    }

    func sent(_ count: Int, of length: Int) -> SendResult {
        if count > 0 {
            // A partial send has filled the buffer; an event will follow.
            if count < length { writable = false }
            return .sent(count)
        }
        switch errno {
        case EAGAIN:
            writable = false
            return .wouldBlock
        default:
            return .failed(remembered(Failure(call: .send, code: errno)))
        }
    }

    private func remembered(_ failure: Failure) -> SystemError {
        tap?.failed(failure.code)
        self.failure = self.failure ?? failure
        return failure.error
    }

    /// Makes the handler receive once more, for what may have come with the last bytes.
    func askAgain() {
        readable = true
        handler?._withUnsafeGuaranteedRef { $0.socketIsReady(Int(tag)) }
    }

    func fire(_ what: Int32) {
        guard isOpen else { return }
        readProbe.readySockets += 1
        awaitsProbe = false
        if what & (EV_READ | EV_CLOSED) != 0 { readable = true }
        // libevent reports an error as readable, and an end only without an error.
        if what & EV_CLOSED != 0 { hasNews = false } else if what & EV_READ != 0 { hasNews = true }
        if what & EV_WRITE != 0 { writable = true }
        if what & EV_CLOSED != 0 { peerEnded = true }
        handler?._withUnsafeGuaranteedRef { $0.socketIsReady(Int(tag)) }
    }
}
