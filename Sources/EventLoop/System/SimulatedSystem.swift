import CLibevent
import Glibc
import Units

/// An in-memory system for simulations; a subclass provides sockets, pipes and the clock.
///
/// Each function replaces the system call of its name, with its result and `errno` (see `SystemCalls`). Loops on such a
/// system have no thread: the simulation calls `EventLoop.turn`.
open class SimulatedSystem {
    /// How a listening socket treats new connections.
    public enum Listening: Sendable {
        case accepting
        case refusing
        case unanswering
    }

    /// A callback of a loop for a ready descriptor.
    public struct Registration {
        /// Whether it is edge-triggered (EV_ET).
        public let isEdgeTriggered: Bool
        private let watcher: UnsafeMutablePointer<event>

        init(_ watcher: UnsafeMutablePointer<event>) {
            self.watcher = watcher
            isEdgeTriggered = Int32(watcher.pointee.ev_events) & EV_ET != 0
        }

        /// Calls back as libevent does: an error makes the descriptor readable and writable; the end of the peer's stream
        /// is only reported without an error.
        public func call(isReadable: Bool, isWritable: Bool, hasPeerEnded: Bool, hasFailed: Bool) {
            var what: Int32 = 0
            if hasFailed {
                what = EV_READ | EV_WRITE
            } else {
                if isReadable { what |= EV_READ }
                if isWritable { what |= EV_WRITE }
                if hasPeerEnded { what |= EV_CLOSED }
            }
            what &= Int32(watcher.pointee.ev_events)
            if what == 0 { return }
            watcher.pointee.ev_evcallback.evcb_cb_union.evcb_callback(
                watcher.pointee.ev_fd,
                Int16(what),
                watcher.pointee.ev_evcallback.evcb_arg
            )
        }
    }

    /// Makes a system; for subclasses.
    public init() {}

    private func isMissing(_ name: String = #function) -> Never {
        preconditionFailure("a simulated system implements \(name)")
    }

    open var now: Moment { isMissing() }
    open func makeSocket(family: Int32) -> Int32 { isMissing() }
    open func connect(_ descriptor: Int32, to address: SocketAddress) -> Int32 { isMissing() }
    open func pendingError(_ descriptor: Int32) -> Int32 { isMissing() }
    open func receive(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int { isMissing() }
    open func send(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int { isMissing() }
    open func splice(from source: Int32, to sink: Int32, _ limit: Int) -> Int { isMissing() }
    open func receivable(_ descriptor: Int32) -> Int32 { isMissing() }
    open func unacknowledged(_ descriptor: Int32) -> Int32 { isMissing() }
    open func shutdownWrite(_ descriptor: Int32) { isMissing() }
    open func setLingerZero(_ descriptor: Int32) { isMissing() }
    open func setKeepAlive(seconds: Int, count: Int, _ descriptor: Int32) { isMissing() }
    open func close(_ descriptor: Int32) { isMissing() }
    open func localAddress(of descriptor: Int32) -> SocketAddress? { isMissing() }
    open func peerAddress(of descriptor: Int32) -> SocketAddress? { isMissing() }
    open func listen(on address: SocketAddress) -> Int32 { isMissing() }
    open func accept(_ descriptor: Int32) -> Int32 { isMissing() }
    open func setListening(_ descriptor: Int32, _ listening: Listening) { isMissing() }
    open func makePipe(size: Int) -> (input: Int32, output: Int32)? { isMissing() }
    open func watch(_ descriptor: Int32, on loop: Int, _ registration: Registration) { isMissing() }
    open func unwatch(_ descriptor: Int32) { isMissing() }

    /// recv(2) with the age of the bytes; defaults to `receive` with age 0.
    open func receiveStamped(
        _ descriptor: Int32,
        _ bytes: UnsafeMutableRawPointer,
        _ count: Int,
        _ age: inout Int64
    ) -> Int {
        age = 0
        return receive(descriptor, bytes, count)
    }

    /// sendmsg(2); defaults to one `send` of all bytes.
    open func send(_ descriptor: Int32, _ vectors: Slice<UnsafeMutableBufferPointer<iovec>>) -> Int {
        let length = vectors.reduce(0) { $0 + $1.iov_len }
        return withUnsafeTemporaryAllocation(byteCount: length, alignment: 1) { buffer in
            var offset = 0
            for vector in vectors {
                guard let source = vector.iov_base, let target = buffer.baseAddress else { continue }
                (target + offset).copyMemory(from: source, byteCount: vector.iov_len)
                offset += vector.iov_len
            }
            guard let base = buffer.baseAddress else { return 0 }
            return send(descriptor, base, length)
        }
    }
}
