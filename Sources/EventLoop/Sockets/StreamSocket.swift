import CLibevent
import Glibc

/// A connected, or connecting, socket of one loop, watched edge-triggered: TCP, or a Unix-domain stream socket.
///
/// `isReadable` and `isWritable` say what the loop has heard and no call has denied since; the handler
/// is called when one of them comes true. The socket is registered with the loop once, for everything,
/// so that a reset is heard of while nobody reads.
public final class StreamSocket {
    /// Bytes that have waited for longer than this, 100 ms, count as if they had waited so long.
    private static let longestAge: Int64 = 100_000_000
    /// Where packets have come out of order, bytes that can't have been received before others may carry a stamp that is
    /// older. So only a wait of up to 1 ms is believed there.
    private static let longestAgeOutOfOrder: Int64 = 1_000_000

    // In the order of their size, because there are two such objects for a connection.

    /// The loop it belongs to.
    public let loop: EventLoop
    /// Here as well, because a reference to it through the loop would be counted.
    private let doubts: DeferredReadProbe
    private let watcher: UnsafeMutablePointer<event>
    /// Not counted: a reference of its own for each call would cost more than the call.
    private var handler: Unmanaged<LoopHandler>?
    private var tag: Int32 = 0
    private(set) var descriptor: Int32
    /// The place in the loop's list of sockets to ask again; −1 while it isn't there.
    var doubtPlace: Int32 = -1
    /// The tick of that list in which it last gave less than it was asked for.
    var doubtedSince: UInt32 = 0
    /// The error that broke the connection. The system tells it once only, to whichever call comes first.
    private var failure: Failure?

    /// Whether bytes, the end, or an error may be there to receive.
    public private(set) var isReadable = false
    /// Whether there may be room to send.
    public private(set) var isWritable = false
    /// Whether the loop has heard of the peer's end of stream (FIN), received or not.
    public private(set) var hasPeerEnded = false
    /// Whether it has told nothing since it gave less than it was asked for.
    var isDoubted = false
    /// Whether the loop has heard of what may be an error since the system was last asked for one.
    private var hasNews = false
    private var stampsArrivals = false
    /// Whether it is a Unix-domain socket, see `StreamSocket+Unix`.
    public private(set) var isUnix = false
    /// Whether the system probes the peer, see `probe`.
    public internal(set) var isProbed = false

    /// A system error, in few bytes.
    private struct Failure {
        enum Call: UInt8 { case connect, recv, send, getsockopt }
        let code: Int32
        let call: Call

        init(call: Call, code: Int32) {
            self.code = code
            self.call = call
        }

        var error: SystemError { SystemError(call: "\(call)", code: code) }
    }

    /// Takes over an accepted connection; `nil` when somebody else has taken it.
    public convenience init?(_ detached: DetachedSocket, on loop: EventLoop) {
        let descriptor = detached.take()
        guard descriptor >= 0 else { return nil }
        // The listening socket has handed TCP_NODELAY on, see tcp(7).
        self.init(descriptor, loop)
        isUnix = detached.isUnix
    }

    /// A socket of `loop` that is closed, until `connect` opens it.
    public convenience init(closedOn loop: EventLoop) { self.init(-1, loop) }

    /// A socket that begins to connect to `address`; see `connect`.
    ///
    /// - Throws: `SystemError` of socket(2) or connect(2) when it fails at once.
    public convenience init(
        connectingTo address: SocketAddress,
        receiveBuffer: Int? = nil,
        on loop: EventLoop
    ) throws(SystemError) {
        self.init(closedOn: loop)
        try connect(to: address, receiveBuffer: receiveBuffer)
    }

    /// Begins to connect a closed socket to `address` and returns at once; once watched, the handler is called when
    /// that has succeeded or failed, and asks `connectionError` which.
    ///
    /// A `receiveBuffer` of so many bytes, 1 or more, is in force from the first segment.
    ///
    /// - Throws: `SystemError` of socket(2) or connect(2) when it fails at once; the socket is closed then.
    public func connect(to address: SocketAddress, receiveBuffer: Int? = nil) throws(SystemError) {
        loop.preconditionOnLoop()
        precondition(descriptor < 0, "a socket is closed before it connects anew")
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
        (failure, hasNews, hasPeerEnded) = (nil, false, false)
    }

    private func made(for address: SocketAddress) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try loop.system.makeSocket(family: address.family)
        } catch {
            // It may be for want of descriptors.
            guard loop.hasUnusedDescriptors else { throw error }
            loop.giveBackDescriptors()
            return try loop.system.makeSocket(family: address.family)
        }
    }

    private init(_ descriptor: Int32, _ loop: EventLoop) {
        loop.preconditionOnLoop()
        self.descriptor = descriptor
        self.loop = loop
        doubts = loop.doubts
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: event())
    }

    /// Registers the socket with its loop, once: from now on `handler` is called with `tag`. The
    /// handler must live until the socket is closed.
    public func watch(by handler: LoopHandler, tag: Int) {
        loop.preconditionOnLoop()
        precondition(self.handler == nil, "a socket is watched by one handler, once")
        self.handler = .passUnretained(handler)
        self.tag = Int32(tag)
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

    /// Whether the socket has not been closed by this side.
    public var isOpen: Bool { descriptor >= 0 }

    /// Why connecting failed; `nil` when it succeeded. To be asked when the handler is first called.
    ///
    /// A peer that was connected to and has reset the connection since is no failure: what it sent comes first, and then
    /// the reset.
    public func connectionError() -> SystemError? {
        // An error makes the socket readable as well; one that is only writable has connected.
        guard isReadable || !isWritable, let failure = pendingError(.connect) else { return nil }
        // Who refuses is told of as ECONNREFUSED.
        if failure.code == ECONNRESET || failure.code == EPIPE {
            _ = remembered(Failure(call: .recv, code: failure.code))
            return nil
        }
        return remembered(failure)
    }

    private func pendingError(_ call: Failure.Call) -> Failure? {
        let code = loop.system.pendingError(descriptor)
        return code == 0 ? nil : Failure(call: call, code: code)
    }

    /// Receives up to `limit` bytes, 1 or more, into the loop's scratch buffer, behind its first `offset` bytes.
    public func receive(limit: Int, behind offset: Int = 0) -> ReceiveResult {
        loop.preconditionOnLoop()
        precondition(offset >= 0 && offset < EventLoop.scratchCapacity, "outside the scratch")
        let room = min(limit, EventLoop.scratchCapacity - offset)
        let count =
            stampsArrivals
            ? receiveStamped(room, behind: offset) : loop.system.receive(descriptor, loop.scratch + offset, room)
        if count > 0, count < room, !hasPeerEnded, doubts.isBusy {
            isReadable = false
            doubts.add(self)
        }
        return received(count)
    }

    /// Receives as `receive` does, and notes in the loop when the last of the bytes came.
    @inline(never)
    private func receiveStamped(_ room: Int, behind offset: Int) -> Int {
        var age: Int64 = 0
        let count = loop.system.receiveStamped(descriptor, loop.scratch + offset, room, &age)
        guard count > 0 else { return count }
        // The stamp is of a clock that may be set, so it isn't believed without bounds.
        age = min(max(0, age), StreamSocket.longestAge)
        if age > StreamSocket.longestAgeOutOfOrder, loop.system.outOfOrder(descriptor) != 0 { age = 0 }
        loop.arrival = loop.now.advanced(byNanoseconds: -age)
        return count
    }

    /// The result of a call that has received so many bytes, or failed with errno.
    @inline(__always)
    private func received(_ count: Int) -> ReceiveResult {
        if count > 0 { return .received(count) }
        if count == 0 {
            // A probe makes a peer that has closed its socket answer by a reset, behind the end that it has sent.
            if isProbed { return .ended }
            return failure.map { .failed($0.error) } ?? .ended
        }
        switch errno {
        case EAGAIN:
            isReadable = false
            return .wouldBlock
        default:
            return .failed(remembered(Failure(call: .recv, code: errno)))
        }
    }

    /// Moves up to `limit` bytes, 1 or more, into an empty pipe; `nil` when the system can't do that.
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

    /// Sends up to `length` bytes, 1 or more, that are in a pipe.
    func send(from pipe: Int32, length: Int) -> SendResult {
        loop.preconditionOnLoop()
        let count = loop.system.splice(from: pipe, to: descriptor, length)
        // A splice may move less than it could, so that a part tells nothing of the socket: only EAGAIN says that it is full.
        return count > 0 ? .sent(count) : sent(count, of: length)
    }

    /// Sends `length` bytes of the loop's scratch buffer, from `offset`. With `endFollows` they may wait for the end of
    /// the stream, which the caller tells at once, and share a packet with it (MSG_MORE, send(2)).
    public func sendScratch(from offset: Int, length: Int, endFollows: Bool = false) -> SendResult {
        loop.preconditionOnLoop()
        precondition(offset >= 0 && length > 0 && offset + length <= EventLoop.scratchSize, "outside the scratch")
        return sent(loop.system.send(descriptor, loop.scratch + offset, length, more: endFollows), of: length)
    }

    func send(_ vectors: UnsafeMutableBufferPointer<iovec>, used: Int) -> SendResult {
        loop.preconditionOnLoop()
        let length = vectors.prefix(used).reduce(0) { $0 + $1.iov_len }
        return sent(loop.system.send(descriptor, vectors, used: used), of: length)
    }

    /// Whether the connection is broken, as a rule by a reset. Asks the system: after the peer's end of
    /// stream a receive goes on to tell that end, and nothing else tells of a reset behind it.
    public func isBroken() -> Bool {
        if failure != nil { return true }
        guard hasNews else { return false }
        hasNews = false
        failure = pendingError(.getsockopt)
        return failure != nil
    }

    /// Ends this side's stream (FIN) behind what was sent.
    public func shutdownWrite() {
        loop.preconditionOnLoop()
        loop.system.shutdownWrite(descriptor)
    }

    /// Closes the socket; what was sent is still delivered. Calling it twice is fine.
    public func close() {
        loop.preconditionOnLoop()
        guard descriptor >= 0 else { return }
        // In this order epoll forgets the socket as it is closed, and is told of it in vain, which is cheaper.
        loop.system.close(descriptor)
        if handler != nil { loop.system.unwatch(watcher) }
        if doubtPlace >= 0 { doubts.remove(self) }
        handler = nil
        descriptor = -1
        isReadable = false
        isWritable = false
    }

    /// Closes the socket with a reset (RST); what the peer has not acknowledged is lost. A Unix-domain socket has its
    /// nearest equivalent, see `StreamSocket+Unix`.
    public func reset() {
        loop.preconditionOnLoop()
        guard descriptor >= 0 else { return }
        if !isUnix { loop.system.setLingerZero(descriptor) }
        close()
    }

    /// Bounds the bytes that the kernel receives before this side takes them, 1 or more (SO_RCVBUF, tcp(7)).
    /// What has been offered to the peer already stays offered.
    public func setReceiveBuffer(_ bytes: Int) {
        loop.preconditionOnLoop()
        guard isOpen else { return }
        loop.system.setReceiveBuffer(bytes, descriptor)
    }

    /// Has `receive` note in `EventLoop.arrival` when bytes came, as the system knows it (SO_TIMESTAMPNS, socket(7)).
    ///
    /// The system has no stamps for a Unix-domain socket, whose bytes count as if they came when they are received.
    public func stampArrivals() {
        loop.preconditionOnLoop()
        guard isOpen else { return }
        stampsArrivals = true
        if !isUnix { loop.system.stampArrivals(descriptor) }
    }

    private func sent(_ count: Int, of length: Int) -> SendResult {
        if count > 0 {
            // A partial send has filled the buffer, and the system will say when there is room again.
            if count < length { isWritable = false }
            return .sent(count)
        }
        switch errno {
        case EAGAIN:
            isWritable = false
            return .wouldBlock
        default:
            return .failed(remembered(Failure(call: .send, code: errno)))
        }
    }

    private func remembered(_ failure: Failure) -> SystemError {
        self.failure = self.failure ?? failure
        return failure.error
    }

    /// Has the handler receive once more, to hear of what may have come along with the last bytes.
    func askAgain() {
        isReadable = true
        handler?._withUnsafeGuaranteedRef { $0.socketIsReady(Int(tag)) }
    }

    private func fire(_ what: Int32) {
        guard descriptor >= 0 else { return }
        doubts.readySockets += 1
        isDoubted = false
        if what & (EV_READ | EV_CLOSED) != 0 { isReadable = true }
        // libevent makes reading of an error, and tells of an end only where there is none.
        if what & EV_CLOSED != 0 { hasNews = false } else if what & EV_READ != 0 { hasNews = true }
        if what & EV_WRITE != 0 { isWritable = true }
        if what & EV_CLOSED != 0 { hasPeerEnded = true }
        handler?._withUnsafeGuaranteedRef { $0.socketIsReady(Int(tag)) }
    }
}
