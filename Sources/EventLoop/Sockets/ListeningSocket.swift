import CLibevent
import Glibc
import Units

/// A socket that accepts connections: TCP, or a Unix-domain stream socket.
public final class ListeningSocket {
    /// Connections that wait to be accepted at most, as listen(2) has it (the system may lower it).
    public static let backlog: Int32 = 4_096

    /// What `accept` found.
    public enum AcceptResult {
        case accepted(DetachedSocket)
        /// Nobody waits.
        case none
        /// The connection went away again before it was accepted; there may be others.
        case gone
        /// Accepting failed because descriptors or memory ran out, and fails again until some are freed. The descriptors
        /// of `DescriptorReserve` count as used.
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
    /// The descriptor that was accepted last.
    private var lastAccepted: Int32

    /// Binds and listens; `handler` is told when somebody waits. Port 0 takes a free port. The file of a Unix-domain
    /// socket gets `permissions` before anybody can connect; one that nobody listens on any more is replaced.
    ///
    /// - Throws: `SystemError` with the call that failed; `isAddressInUse` tells the usual one.
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
        lastAccepted = descriptor
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

    /// The next connection that waits.
    public func accept() -> AcceptResult {
        loop.preconditionOnLoop()
        let accepted = loop.system.accept(descriptor, last: lastAccepted)
        if accepted >= 0 {
            lastAccepted = accepted
            return .accepted(DetachedSocket(accepted, loop.system, isUnix: unix != nil))
        }
        switch errno {
        case EAGAIN: return .none
        // What accept(2) names as errors of the connection, not of the listener; and a suspended listener's EINVAL.
        case EINTR, ECONNABORTED, EPROTO, EPERM, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP,
            ENETUNREACH:
            return .gone
        case EINVAL: return .none
        default: return .failed(.last("accept4"))
        }
    }

    /// Stops being told of connections, which go on waiting, until `watch` is called.
    public func unwatch() {
        loop.preconditionOnLoop()
        loop.system.unwatch(watcher)
    }

    /// Is told of connections again.
    public func watch() {
        loop.preconditionOnLoop()
        loop.system.watchAgain(watcher, of: loop)
    }

    /// Refuses connections (the client sees ECONNREFUSED, and those that wait are reset) and keeps the port, or the file
    /// of a Unix-domain socket. An abstract name is free meanwhile.
    public func suspend() {
        loop.preconditionOnLoop()
        loop.system.unwatch(watcher)
        if unix != nil {
            unix?.refuse(descriptor)
            return
        }
        loop.system.suspendListening(descriptor)
    }

    /// Has a listening socket of the system refuse connections.
    static func suspend(_ descriptor: Int32) {
        // On Linux this ends listening and keeps a port that was bound by its number, though not from
        // sockets that share addresses as this one does, which is most servers: so it stops sharing.
        ListeningSocket.setSharing(false, descriptor)
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Accepts connections again after `suspend` or `stopAnswering`. A client that was left without an answer and
    /// still tries gets one at its next try.
    ///
    /// - Parameter answering: `false` to have the socket listen and go on giving no answers.
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

    /// Has a socket of the system listen again.
    static func resume(_ descriptor: Int32, answering: Bool) throws(SystemError) {
        // With the port's own old connections it has to be shared.
        ListeningSocket.setSharing(true, descriptor)
        if answering { squall_take_packets(descriptor) }
        if Glibc.listen(descriptor, answering ? ListeningSocket.backlog : 0) != 0 { throw .last("listen") }
    }

    /// Leaves whoever connects without an answer, and those that wait unaccepted, until `resume`: what comes
    /// for the socket is thrown away, so a client goes on trying until it gives up.
    ///
    /// - Returns: `false` where the system has no such filter, as for Unix-domain sockets. Then the queue is made as short
    ///   as it can be, so one more client may find itself connected, and hears nothing.
    @discardableResult
    public func stopAnswering() -> Bool {
        loop.preconditionOnLoop()
        loop.system.unwatch(watcher)
        guard let unix else { return loop.system.stopAnswering(descriptor) }
        if unix.isBound { Glibc.listen(descriptor, 0) }
        return false
    }

    /// Has a listening socket of the system give no answers; `false` where it can't.
    static func stopAnswering(_ descriptor: Int32) -> Bool {
        if squall_drop_packets(descriptor) == 0 { return true }
        Glibc.listen(descriptor, 0)
        return false
    }

    /// Closes the socket, and removes the file of a Unix-domain socket if it is still this one's; calling it twice is
    /// fine.
    public func close() {
        loop.preconditionOnLoop()
        guard isOpen else { return }
        isOpen = false
        loop.system.unwatch(watcher)
        unix?.removeFile()
        loop.system.close(descriptor)
    }

    /// A socket of the system that is bound to `address` and listens.
    static func listen(on address: SocketAddress) throws(SystemError) -> Int32 {
        let descriptor = try bind(address)
        guard Glibc.listen(descriptor, backlog) == 0 else {
            let error = SystemError.last("listen")
            Glibc.close(descriptor)
            throw error
        }
        return descriptor
    }

    /// A bound socket. A free port is looked for first and then bound by its number, because only such
    /// a port stays ours while `suspend` is in force; should somebody take it in between, another is tried.
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
