import CLibevent
import Glibc
import Units

/// The calls that loops, sockets and pipes make to the system, or to a simulation in its place.
///
/// A function returns what the call of its name returns, and leaves `errno` as that does; a call that moves bytes and was
/// interrupted (EINTR) is made again. A test of one nil pointer is all
/// that a simulation costs where there is none. See docs/decisions/0030-simulated-system.md.
struct SystemCalls: @unchecked Sendable {
    /// Not counted: the loops of a simulation hold it.
    private let simulated: Unmanaged<SimulatedSystem>?

    init(_ simulation: SimulatedSystem?) {
        simulated = simulation.map { .passUnretained($0) }
    }

    /// The simulation; `nil` on the real system. What follows asks it first, in every function.
    private var simulation: SimulatedSystem? { simulated?._withUnsafeGuaranteedRef { $0 } }

    /// The time now.
    var now: Moment { if let simulated { simulated._withUnsafeGuaranteedRef { $0.now } } else { MonotonicClock.now } }

    // MARK: Sockets

    /// socket(2); EMFILE also when only the descriptors of `DescriptorReserve` are left.
    func makeSocket(family: Int32) throws(SystemError) -> Int32 {
        guard let simulation else { return try SystemSocket.make(family: family) }
        let descriptor = simulation.makeSocket(family: family)
        if descriptor < 0 { throw .last("socket") }
        return descriptor
    }

    /// connect(2).
    func connect(_ descriptor: Int32, to address: SocketAddress) -> Int32 {
        if let simulation { return simulation.connect(descriptor, to: address) }
        return address.withSystemAddress { Glibc.connect(descriptor, $0, $1) }
    }

    /// The error of a socket, which is cleared (SO_ERROR, socket(7)); 0 where there is none.
    func pendingError(_ descriptor: Int32) -> Int32 {
        if let simulation { return simulation.pendingError(descriptor) }
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
        return code
    }

    /// recv(2).
    func receive(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
        retried {
            if let simulated { return simulated._withUnsafeGuaranteedRef { $0.receive(descriptor, bytes, count) } }
            return squall_receive(descriptor, bytes, count)
        }
    }

    /// recv(2); `age` becomes the nanoseconds since the last of the bytes came.
    func receiveStamped(
        _ descriptor: Int32,
        _ bytes: UnsafeMutableRawPointer,
        _ count: Int,
        _ age: inout Int64
    ) -> Int {
        retried {
            if let simulation { return simulation.receiveStamped(descriptor, bytes, count, &age) }
            return squall_receive_stamped(descriptor, bytes, count, &age)
        }
    }

    /// send(2).
    func send(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int, more: Bool) -> Int {
        retried {
            if let simulated { return simulated._withUnsafeGuaranteedRef { $0.send(descriptor, bytes, count) } }
            return squall_send(descriptor, bytes, count, more)
        }
    }

    /// sendmsg(2).
    func send(_ descriptor: Int32, _ vectors: UnsafeMutableBufferPointer<iovec>, used: Int) -> Int {
        var message = msghdr()
        message.msg_iov = vectors.baseAddress
        message.msg_iovlen = used
        return retried {
            if let simulation { return simulation.send(descriptor, vectors.prefix(used)) }
            return sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL))
        }
    }

    /// splice(2), which doesn't wait.
    func splice(from source: Int32, to sink: Int32, _ limit: Int) -> Int {
        retried {
            if let simulation { return simulation.splice(from: source, to: sink, limit) }
            return squall_splice(source, sink, limit)
        }
    }

    /// Makes a call until it isn't interrupted: nothing tells a loop to make it again.
    @inline(__always)
    private func retried(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    /// The bytes that wait to be received; below 0 on an error.
    func receivable(_ descriptor: Int32) -> Int32 {
        if let simulation { return simulation.receivable(descriptor) }
        return squall_receivable(descriptor)
    }

    /// The bytes sent that the receiver hasn't acknowledged; below 0 on an error.
    func unacknowledged(_ descriptor: Int32) -> Int32 {
        if let simulation { return simulation.unacknowledged(descriptor) }
        return squall_unacknowledged(descriptor)
    }

    /// The packets of a connection that came out of order.
    func outOfOrder(_ descriptor: Int32) -> Int64 { simulated == nil ? squall_out_of_order(descriptor) : 0 }

    /// shutdown(2) of the sending side.
    func shutdownWrite(_ descriptor: Int32) {
        if let simulation { return simulation.shutdownWrite(descriptor) }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Has `close` send a reset (SO_LINGER, socket(7)).
    func setLingerZero(_ descriptor: Int32) {
        if let simulation { return simulation.setLingerZero(descriptor) }
        SystemSocket.setLingerZero(descriptor)
    }

    /// close(2), of any descriptor.
    func close(_ descriptor: Int32) {
        if let simulation { return simulation.close(descriptor) }
        Glibc.close(descriptor)
    }

    /// The address that a socket is bound to; `nil` on an error.
    func localAddress(of descriptor: Int32) -> SocketAddress? {
        if let simulation { return simulation.localAddress(of: descriptor) }
        return try? .bound(to: descriptor)
    }

    /// The address of a socket's peer; `nil` when it has none any more.
    func peerAddress(of descriptor: Int32) -> SocketAddress? {
        if let simulation { return simulation.peerAddress(of: descriptor) }
        return .peer(of: descriptor)
    }

    /// Has the system probe a silent peer (SO_KEEPALIVE, tcp(7)).
    func setKeepAlive(seconds: Int, count: Int, _ descriptor: Int32) {
        if let simulation { return simulation.setKeepAlive(seconds: seconds, count: count, descriptor) }
        SystemSocket.setKeepAlive(seconds: seconds, count: count, descriptor)
    }

    // MARK: Options, which a simulation has no use for

    func setNoDelay(_ descriptor: Int32) { if simulated == nil { SystemSocket.setNoDelay(descriptor) } }

    func setReceiveBuffer(_ bytes: Int, _ descriptor: Int32) {
        if simulated == nil { SystemSocket.setReceiveBuffer(bytes, descriptor) }
    }

    func stampArrivals(_ descriptor: Int32) { if simulated == nil { squall_stamp_arrivals(descriptor) } }

    func endPacing(_ descriptor: Int32, for address: SocketAddress) {
        if simulated == nil { CongestionControl.endPacing(descriptor, for: address) }
    }

    // MARK: Listening

    /// A socket that is bound to an address and listens.
    func listen(on address: SocketAddress) throws(SystemError) -> Int32 {
        guard let simulation else { return try ListeningSocket.listen(on: address) }
        let descriptor = simulation.listen(on: address)
        if descriptor < 0 { throw .last("bind") }
        return descriptor
    }

    /// accept4(2); EMFILE also when the next descriptor would be one of `DescriptorReserve`, for which `last` is one that
    /// was opened a moment ago.
    func accept(_ descriptor: Int32, last: Int32) -> Int32 {
        if let simulation { return simulation.accept(descriptor) }
        guard !DescriptorReserve.isNext(after: last, duplicating: descriptor) else {
            errno = SystemError.outOfDescriptors
            return -1
        }
        return squall_accept(descriptor)
    }

    /// Ends listening and keeps the port.
    func suspendListening(_ descriptor: Int32) {
        if let simulation { return simulation.setListening(descriptor, .refusing) }
        ListeningSocket.suspend(descriptor)
    }

    /// listen(2) once more, with or without answers to those who connect.
    func resumeListening(_ descriptor: Int32, answering: Bool) throws(SystemError) {
        if let simulation { return simulation.setListening(descriptor, answering ? .accepting : .unanswering) }
        try ListeningSocket.resume(descriptor, answering: answering)
    }

    /// Leaves those who connect without an answer; `false` where the system can't do that.
    func stopAnswering(_ descriptor: Int32) -> Bool {
        guard let simulation else { return ListeningSocket.stopAnswering(descriptor) }
        simulation.setListening(descriptor, .unanswering)
        return true
    }

    // MARK: Pipes

    /// pipe2(2) with room for `size` bytes; below 0 with `errno`, also when a descriptor is one of `DescriptorReserve`.
    func makePipe(size: Int) -> (input: Int32, output: Int32)? {
        if let simulation { return simulation.makePipe(size: size) }
        var (input, output): (Int32, Int32) = (-1, -1)
        guard squall_pipe(&output, &input, Int32(size)) == 0 else { return nil }
        guard !DescriptorReserve.includes(max(input, output)) else {
            Glibc.close(input)
            Glibc.close(output)
            return nil
        }
        return (input, output)
    }

    // MARK: Readiness

    /// Has the loop call back when `descriptor` is ready; `watcher` stays where it is until `unwatch`.
    func watch(
        _ watcher: UnsafeMutablePointer<event>,
        of loop: EventLoop,
        _ descriptor: Int32,
        _ what: Int16,
        _ callback: @escaping event_callback_fn,
        _ context: UnsafeMutableRawPointer
    ) {
        event_assign(watcher, loop.base, descriptor, what, callback, context)
        watchAgain(watcher, of: loop)
    }

    /// The same once more, after `unwatch`.
    func watchAgain(_ watcher: UnsafeMutablePointer<event>, of loop: EventLoop) {
        guard let simulation else {
            event_add(watcher, nil)
            return
        }
        let registration = SimulatedSystem.Registration(watcher)
        simulation.watch(watcher.pointee.ev_fd, on: loop.index, registration)
    }

    /// Ends the calls. Calling it twice is fine.
    func unwatch(_ watcher: UnsafeMutablePointer<event>) {
        if let simulation { return simulation.unwatch(watcher.pointee.ev_fd) }
        event_del(watcher)
    }
}
