import CLibevent
import Glibc
import OperatingSystem
import Units

/// A socket that accepts connections: TCP, or a Unix-domain stream socket.
public final class ListeningSocket {
    /// The backlog of listen(2); the system may lower it.
    public static let backlog: Int32 = 4_096

    /// The result of `accept`.
    public enum AcceptResult {
        case accepted(DetachedSocket)
        /// No connection waits.
        case none
        /// The connection ended before it was accepted; others may wait.
        case gone
        /// Out of descriptors or memory; the descriptors of `DescriptorReserve` count as used.
        case failed(SystemError)
    }

    /// The address it is bound to, with the port that the system chose for port 0.
    public let address: SocketAddress

    private let loop: EventLoop
    private let descriptor: Int32
    private let watcher: UnsafeMutablePointer<event>
    private unowned(unsafe) let handler: LoopHandler
    private let tag: Int
    private var isOpen = true
    /// The name of a Unix-domain socket, and its file; `nil` for TCP.
    private var unix: UnixListener?
    /// The address of the own connection that fills the queue, until it is accepted; see `fillQueue`.
    private var filler: SocketAddress?

    /// Binds and listens; `handler` is called when a connection waits. Port 0 takes a free port. A Unix-domain socket's file
    /// gets `permissions` before connections are possible; a stale file is replaced.
    ///
    /// - Throws: `SystemError`, often `isAddressInUse`.
    public init(
        _ wanted: SocketAddress,
        permissions: SocketPermissions = .ownerOnly,
        on loop: EventLoop,
        handler: LoopHandler,
        tag: Int
    ) throws(SystemError) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
        self.tag = tag
        if let name = wanted.unix {
            var unix = UnixListener(name, permissions)
            descriptor = try unix.open()
            guard Glibc.listen(descriptor, ListeningSocket.backlog) == 0 else {
                let error = SystemError.last("listen")
                unix.removeFile()
                Glibc.close(descriptor)
                throw error
            }
            self.unix = unix
            address = wanted
        } else {
            descriptor = try loop.system.listen(on: wanted)
            guard let bound = loop.system.localAddress(of: descriptor) else {
                let error = SystemError.last("getsockname")
                loop.system.close(descriptor)
                throw error
            }
            address = bound
        }
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: event())
        loop.system.watch(
            watcher,
            of: loop,
            descriptor,
            Int16(EV_READ | EV_PERSIST),
            { _, _, context in
                guard let context else { return }
                Unmanaged<ListeningSocket>.fromOpaque(context)._withUnsafeGuaranteedRef { socket in
                    socket.handler.socketIsReady(socket.tag)
                }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        precondition(!isOpen, "a listening socket is closed before it is let go")
        watcher.deallocate()
    }

    /// Accepts the next connection.
    public func accept() -> AcceptResult {
        loop.preconditionOnLoop()
        let accepted = loop.system.accept(descriptor)
        if accepted >= 0 {
            if let filler, loop.system.peerAddress(of: accepted)?.canonical == filler {
                self.filler = nil
                loop.system.close(accepted)
                return .gone
            }
            return .accepted(DetachedSocket(accepted, loop.system, isUnix: unix != nil))
        }
        switch errno {
        case EAGAIN: return .none
        // Errors of the connection (accept(2)), and EINVAL of a suspended listener.
        case EINTR, ECONNABORTED, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
            ENETUNREACH:
            return .gone
        case EINVAL: return .none
        default: return .failed(.last("accept4"))
        }
    }

    /// Stops watching for connections, which keep waiting.
    public func unwatch() {
        loop.preconditionOnLoop()
        loop.system.unwatch(watcher)
    }

    /// Watches for connections again.
    public func watch() {
        loop.preconditionOnLoop()
        loop.system.watchAgain(watcher, of: loop)
    }

    /// Refuses connections (ECONNREFUSED), resets waiting ones, and keeps the port or the socket's file. An abstract name is
    /// free meanwhile.
    public func suspend() {
        loop.preconditionOnLoop()
        loop.system.unwatch(watcher)
        if unix != nil {
            unix?.refuse(descriptor)
            return
        }
        filler = nil
        loop.system.suspendListening(descriptor)
    }

    /// Makes a system socket refuse connections.
    static func suspend(_ descriptor: Int32) {
        // On Linux this stops listening and keeps a port that was bound by number. Without address sharing, so that
        // other sockets with SO_REUSEADDR can't take it.
        ListeningSocket.setSharing(false, descriptor)
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Accepts connections again after `suspend` or `stopAnswering`. Unanswered clients are answered at their next try.
    ///
    /// - Parameter answering: `false` to listen without answering.
    /// - Throws: `SystemError` of listen(2).
    public func resume(answering: Bool = true) throws(SystemError) {
        loop.preconditionOnLoop()
        if unix != nil {
            try unix?.bindAgain(descriptor)
            if Glibc.listen(descriptor, answering ? ListeningSocket.backlog : 0) != 0 { throw .last("listen") }
        } else {
            try loop.system.resumeListening(descriptor, answering: answering)
        }
        if answering { watch() }
    }

    /// Makes a system socket listen again.
    static func resume(_ descriptor: Int32, answering: Bool) throws(SystemError) {
        // Shared again with the port's old connections.
        ListeningSocket.setSharing(true, descriptor)
        if answering { squall_take_packets(descriptor) }
        if Glibc.listen(descriptor, answering ? ListeningSocket.backlog : 0) != 0 { throw .last("listen") }
    }

    /// Leaves new and waiting connections unanswered until `resume`: their packets are dropped, so clients retry until they
    /// give up. A filter drops them, or where the system allows none, as for a process without privileges, a full queue.
    ///
    /// - Returns: `false` if neither is possible, as for Unix-domain sockets. Then the backlog is minimal, and one more client
    ///   may connect without an answer.
    @discardableResult
    public func stopAnswering() -> Bool {
        loop.preconditionOnLoop()
        loop.system.unwatch(watcher)
        guard let unix else { return loop.system.stopAnswering(descriptor) || fillQueue() }
        if unix.isBound { Glibc.listen(descriptor, 0) }
        return false
    }

    /// Makes a system socket give no answers; `false` if the system doesn't allow the filter.
    static func stopAnswering(_ descriptor: Int32) -> Bool { squall_drop_packets(descriptor) == 0 }

    /// Makes the queue as short as possible and fills it by a connection of the process itself, so that the kernel drops the
    /// packets of all others. The connection is over at once, stays in the queue, and is thrown away by `accept`.
    ///
    /// - Returns: whether the queue is full.
    func fillQueue() -> Bool {
        guard Glibc.listen(descriptor, 0) == 0 else { return false }
        // A client that waits fills it as well.
        if SystemSocket.isReady(descriptor, POLLIN, within: 0) { return true }
        let address = address.destination
        guard let own = try? SystemSocket.make(family: address.family) else { return false }
        defer { Glibc.close(own) }
        let isConnected = address.withSystemAddress { Glibc.connect(own, $0, $1) } == 0
        guard isConnected || errno == EINPROGRESS else { return false }
        // The kernel answers itself during connect(2), unless it is very busy.
        if SystemSocket.isReady(own, POLLOUT, within: 100) { filler = (try? SocketAddress.bound(to: own))?.canonical }
        return SystemSocket.isReady(descriptor, POLLIN, within: 0)
    }

    /// Closes the socket, and removes its own Unix-domain file. Calling it twice is fine.
    public func close() {
        loop.preconditionOnLoop()
        guard isOpen else { return }
        isOpen = false
        loop.system.unwatch(watcher)
        unix?.removeFile()
        loop.system.close(descriptor)
    }

    static func listen(on address: SocketAddress) throws(SystemError) -> Int32 {
        let descriptor = try bind(address)
        guard Glibc.listen(descriptor, backlog) == 0 else {
            let error = SystemError.last("listen")
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Makes a bound socket. A free port is chosen first and then bound by number, because only such a port is kept during
    /// `suspend`; if it is taken in between, another is tried.
    private static func bind(_ wanted: SocketAddress) throws(SystemError) -> Int32 {
        guard wanted.port == 0 else { return try bindOnce(wanted) }
        var attempts = 16
        while true {
            let probe = try bindOnce(wanted)
            let free = Result { () throws(SystemError) in try SocketAddress.bound(to: probe) }
            Glibc.close(probe)
            attempts -= 1
            do throws(SystemError) {
                return try bindOnce(wanted.with(port: free.get().port))
            } catch {
                guard error.isAddressInUse, attempts > 0 else { throw error }
            }
        }
    }

    private static func bindOnce(_ address: SocketAddress) throws(SystemError) -> Int32 {
        let descriptor = try SystemSocket.make(family: address.family)
        setSharing(true, descriptor)
        SystemSocket.setNoDelay(descriptor)
        CongestionControl.endPacing(descriptor, for: address)
        if address.isIPv6 {
            var one: Int32 = 1
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, socklen_t(MemoryLayout<Int32>.size))
        }
        guard address.withSystemAddress({ Glibc.bind(descriptor, $0, $1) }) == 0 else {
            let error = SystemError.last("bind")
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }

    private static func setSharing(_ isShared: Bool, _ descriptor: Int32) {
        var value: Int32 = isShared ? 1 : 0
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}
