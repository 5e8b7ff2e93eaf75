import CLibevent
import Glibc
import OperatingSystem
import Units

/// The system calls of loops, sockets and pipes, or those of a simulation.
///
/// A function returns the result of the call of its name and sets `errno`; interrupted calls that move bytes (EINTR) are
/// retried. Without a simulation it costs one test for nil. See docs/decisions/0030-simulated-system.md.
struct SystemCalls: @unchecked Sendable {
    /// Unowned: the loops of a simulation hold it.
    private let simulated: Unmanaged<SimulatedSystem>?

    init(_ simulation: SimulatedSystem?) {
        simulated = simulation.map { .passUnretained($0) }
    }

    /// The simulation; `nil` on the real system.
    private var simulation: SimulatedSystem? { simulated?._withUnsafeGuaranteedRef { $0 } }

    /// The time now.
    var now: Moment { if let simulated { simulated._withUnsafeGuaranteedRef { $0.now } } else { MonotonicClock.now } }

    // MARK: Sockets

    /// socket(2); EMFILE also if only the descriptors of `DescriptorReserve` are left.
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

    /// Reads and clears the error of a socket (SO_ERROR, socket(7)); 0 if none.
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

    /// recv(2); sets `age` to the nanoseconds since the last byte came.
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

    /// splice(2), non-blocking.
    func splice(from source: Int32, to sink: Int32, _ limit: Int) -> Int {
        retried {
            if let simulation { return simulation.splice(from: source, to: sink, limit) }
            return squall_splice(source, sink, limit)
        }
    }

    /// Retries a call while it is interrupted.
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

    /// Makes `close` send a reset (SO_LINGER, socket(7)).
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

    /// The address of a socket's peer; `nil` if the connection is over.
    func peerAddress(of descriptor: Int32) -> SocketAddress? {
        if let simulation { return simulation.peerAddress(of: descriptor) }
        return .peer(of: descriptor)
    }

    /// Enables keep-alive probes (SO_KEEPALIVE, tcp(7)).
    func setKeepAlive(seconds: Int, count: Int, _ descriptor: Int32) {
        if let simulation { return simulation.setKeepAlive(seconds: seconds, count: count, descriptor) }
        SystemSocket.setKeepAlive(seconds: seconds, count: count, descriptor)
    }

    // MARK: Options, ignored by simulations

    func setNoDelay(_ descriptor: Int32) { if simulated == nil { SystemSocket.setNoDelay(descriptor) } }

    func setReceiveBuffer(_ bytes: Int, _ descriptor: Int32) {
        if simulated == nil { SystemSocket.setReceiveBuffer(bytes, descriptor) }
    }

    func stampArrivals(_ descriptor: Int32) { if simulated == nil { squall_stamp_arrivals(descriptor) } }

    func endPacing(_ descriptor: Int32, for address: SocketAddress) {
        if simulated == nil { CongestionControl.endPacing(descriptor, for: address) }
    }

    // MARK: Listening

    func listen(on address: SocketAddress) throws(SystemError) -> Int32 {
        guard let simulation else { return try ListeningSocket.listen(on: address) }
        let descriptor = simulation.listen(on: address)
        if descriptor < 0 { throw .last("bind") }
        return descriptor
    }

    /// accept4(2); EMFILE also if the next descriptor would be one of `DescriptorReserve`.
    func accept(_ descriptor: Int32) -> Int32 {
        if let simulation { return simulation.accept(descriptor) }
        guard !DescriptorReserve.isNext(duplicating: descriptor) else {
            errno = SystemError.outOfDescriptors
            return -1
        }
        let accepted = squall_accept(descriptor)
        if accepted >= 0 { DescriptorReserve.note(accepted) }
        return accepted
    }

    /// Stops listening and keeps the port.
    func suspendListening(_ descriptor: Int32) {
        if let simulation { return simulation.setListening(descriptor, .refusing) }
        ListeningSocket.suspend(descriptor)
    }

    /// listen(2) again, with or without answering new connections.
    func resumeListening(_ descriptor: Int32, answering: Bool) throws(SystemError) {
        if let simulation { return simulation.setListening(descriptor, answering ? .accepting : .unanswering) }
        try ListeningSocket.resume(descriptor, answering: answering)
    }

    /// Leaves new connections unanswered; `false` if the system doesn't support it.
    func stopAnswering(_ descriptor: Int32) -> Bool {
        guard let simulation else { return ListeningSocket.stopAnswering(descriptor) }
        simulation.setListening(descriptor, .unanswering)
        return true
    }

    // MARK: Pipes

    /// pipe2(2) with a capacity of `size` bytes; fails also if a descriptor is one of `DescriptorReserve`.
    func makePipe(size: Int) -> (input: Int32, output: Int32)? {
        if let simulation { return simulation.makePipe(size: size) }
        var (input, output): (Int32, Int32) = (-1, -1)
        guard squall_pipe(&output, &input, Int32(size)) == 0 else { return nil }
        guard !DescriptorReserve.note(max(input, output)) else {
            Glibc.close(input)
            Glibc.close(output)
            return nil
        }
        return (input, output)
    }

    // MARK: Readiness

    /// Watches `descriptor`; `watcher` must not move until `unwatch`.
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

    /// Watches again after `unwatch`.
    func watchAgain(_ watcher: UnsafeMutablePointer<event>, of loop: EventLoop) {
        guard let simulation else {
            event_add(watcher, nil)
            return
        }
        let registration = SimulatedSystem.Registration(watcher)
        simulation.watch(watcher.pointee.ev_fd, on: loop.index, registration)
    }

    /// Stops watching. Calling it twice is fine.
    func unwatch(_ watcher: UnsafeMutablePointer<event>) {
        if let simulation { return simulation.unwatch(watcher.pointee.ev_fd) }
        event_del(watcher)
    }
}
