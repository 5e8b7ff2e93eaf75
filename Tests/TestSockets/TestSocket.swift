import CLibevent
import EventLoop
import Glibc
import OperatingSystem
import Synchronization
import TestStreams
import Units

/// A blocking socket of a test, whose calls fail after `patience` instead of hanging.
package final class TestSocket: Sendable {
    /// The seconds after which a test that waits has failed: more than one waits for its turn where all of them run.
    package static let patience = 120

    private let stored: Atomic<Int32>
    package var descriptor: Int32 { stored.load(ordering: .relaxed) }

    private init(descriptor: Int32) {
        stored = Atomic(descriptor)
        var limit = timeval(tv_sec: TestSocket.patience, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    /// A new socket, which no program has that a test starts meanwhile: its connection would live as long as that.
    private static func opened(
        isIPv6: Bool = false,
        isUnix: Bool = false,
        flags: __socket_type = __socket_type(0)
    ) -> Int32 {
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | flags.rawValue
        return socket(isUnix ? AF_UNIX : isIPv6 ? AF_INET6 : AF_INET, Int32(type), 0)
    }

    package func close() {
        let descriptor = stored.exchange(-1, ordering: .relaxed)
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// A connection to `address`, from `source` where that is given, or the errno of the attempt.
    package static func connected(
        to address: SocketAddress,
        from source: SocketAddress? = nil
    ) -> Result<TestSocket, Errno> {
        let descriptor = opened(isIPv6: address.isIPv6, isUnix: address.unix != nil)
        let socket = TestSocket(descriptor: descriptor)
        if let source { precondition(bindErrno(descriptor, source) == 0, "can't bind") }
        let code = withAddress(address) { connect(descriptor, $0, $1) }
        return code == 0 ? .success(socket) : .failure(Errno(code: errno))
    }

    /// The errno of connecting to `address`; 0 where somebody listens.
    package static func errnoOfConnecting(to address: SocketAddress) -> Int32 {
        if case .failure(let error) = connected(to: address) { error.code } else { 0 }
    }

    /// A socket that has begun to connect to `address` and may never succeed.
    package static func connecting(to address: SocketAddress) -> TestSocket {
        let descriptor = opened(isIPv6: address.isIPv6, flags: SOCK_NONBLOCK)
        _ = withAddress(address) { connect(descriptor, $0, $1) }
        return TestSocket(descriptor: descriptor)
    }

    /// A listening socket on a free port of 127.0.0.1, or of ::1.
    package static func listening(
        backlog: Int32 = 128,
        isIPv6: Bool = false
    ) -> (socket: TestSocket, address: SocketAddress) {
        let descriptor = opened(isIPv6: isIPv6)
        let socket = TestSocket(descriptor: descriptor)
        precondition(bindErrno(descriptor, loopback(isIPv6: isIPv6)) == 0, "can't bind")
        precondition(listen(descriptor, backlog) == 0, "can't listen")
        return (socket, loopback(port: socket.localAddress.port, isIPv6: isIPv6))
    }

    /// A listening Unix-domain socket, whose file stays when it is closed.
    package static func listening(at name: UnixSocketName, backlog: Int32 = 128) -> TestSocket {
        let socket = TestSocket(descriptor: opened(isUnix: true))
        precondition(bindErrno(socket.descriptor, SocketAddress(unix: name)) == 0, "can't bind")
        precondition(listen(socket.descriptor, backlog) == 0, "can't listen")
        return socket
    }

    /// A socket on a port of 127.0.0.1 on which nobody listens, nor will as long as the socket is there.
    package static func refusing() -> (socket: TestSocket, address: SocketAddress) {
        let socket = TestSocket(descriptor: opened(isIPv6: false))
        precondition(bindErrno(socket.descriptor, loopback()) == 0, "can't bind")
        return (socket, socket.localAddress)
    }

    /// The errno of binding a socket that shares addresses, as servers do, to `address`; 0 when it was let.
    package static func errnoOfBinding(_ address: SocketAddress) -> Int32 {
        let descriptor = opened(isIPv6: address.isIPv6)
        defer { Glibc.close(descriptor) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        return bindErrno(descriptor, address)
    }

    private static func bindErrno(_ descriptor: Int32, _ address: SocketAddress) -> Int32 {
        withAddress(address) { bind(descriptor, $0, $1) } == 0 ? 0 : errno
    }

    package var localAddress: SocketAddress {
        var four = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &four) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return loopback(port: UInt16(bigEndian: four.sin_port))
    }

    package func accepted() throws(Errno) -> TestSocket {
        let accepted = accept4(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
        if accepted < 0 { throw Errno(code: errno) }
        return TestSocket(descriptor: accepted)
    }

    /// The next client, however long it takes; `nil` once the listener is interrupted. A server of tests that wait for their
    /// turn may be without a client for longer than a test may wait.
    package func nextClient() -> TestSocket? {
        while true {
            do {
                return try accepted()
            } catch {
                guard [EAGAIN, EINTR, ECONNABORTED].contains(error.code) else { return nil }
            }
        }
    }

    package func send(_ bytes: [UInt8]) throws(Errno) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor,
                    buffer.baseAddress.map { $0 + sent },
                    buffer.count - sent,
                    Int32(MSG_NOSIGNAL)
                )
            }
            if count < 0 { throw Errno(code: errno) }
            sent += count
        }
    }

    /// Up to `limit` bytes; none at the end of the stream.
    package func receive(_ limit: Int) throws(Errno) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &bytes, limit, 0)
        if count < 0 { throw Errno(code: errno) }
        return Array(bytes.prefix(count))
    }

    /// Exactly `count` bytes, or fewer if the stream ends before.
    package func receive(exactly count: Int) throws(Errno) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let part = try receive(count - bytes.count)
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }

    /// Everything up to the end, in reads of at most `readSize`, and how it ended.
    package func receiveAll(_ readSize: Int = 1 << 16) -> (bytes: [UInt8], ending: StreamEnding) {
        var bytes: [UInt8] = []
        while true {
            do throws(Errno) {
                let part = try receive(readSize)
                if part.isEmpty { return (bytes, .finish) }
                bytes += part
            } catch {
                return (bytes, error.code == ECONNRESET ? .reset : .failure(error.code))
            }
        }
    }

    /// As many of `bytes` as can be sent before the connection breaks, a call for each `writeSize`.
    package func sendUntilBroken(_ bytes: [UInt8], writeSize: Int = 1 << 16) {
        var rest = bytes[...]
        while !rest.isEmpty {
            guard (try? send(Array(rest.prefix(writeSize)))) != nil else { return }
            rest = rest.dropFirst(writeSize)
        }
    }

    /// Waits, 30 seconds at most, until the connection is broken, without sending or receiving.
    package func waitUntilBroken() -> StreamEnding {
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        guard poll(&entry, 1, 30_000) == 1, entry.revents & Int16(POLLERR) != 0 else { return .failure(ETIMEDOUT) }
        return .reset
    }

    /// Waits, 30 seconds at most, until something is there to receive.
    package func waitUntilReadable() -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 30_000) == 1
    }

    /// Whether nothing is there now: no byte, no end and no reset.
    package var isQuiet: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) < 0 && errno == EAGAIN
    }

    /// Whether the connection that was begun is neither made nor refused.
    package var isConnecting: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&entry, 1, 0) == 0
    }

    /// Ends whatever another thread waits for on this socket.
    package func interrupt() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    package func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Has the kernel throw away what comes for this socket, as if the network had gone.
    package func dropPackets() {
        let code = squall_drop_packets(descriptor)
        precondition(code == 0, "can't drop packets")
    }

    /// Makes the close of this socket a reset.
    package func resetAtClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Has the system remember this socket for a second only once it is closed, and reset what comes then.
    package func isForgottenSoon() {
        var seconds: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_LINGER2, &seconds, socklen_t(MemoryLayout<Int32>.size))
    }

    package func setReceiveBuffer(_ bytes: Int32) {
        var bytes = bytes
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
    }

    private static func withAddress<Result>(
        _ address: SocketAddress,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        if let name = address.unix { return withAddress(of: name, body) }
        if address.isIPv6 {
            var six = sockaddr_in6()
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = address.port.bigEndian
            inet_pton(AF_INET6, address.host, &six.sin6_addr)
            return withUnsafePointer(to: &six) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_in6>.size))
                }
            }
        }
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = address.port.bigEndian
        inet_pton(AF_INET, address.host, &four.sin_addr)
        return withUnsafePointer(to: &four) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

extension TestSocket {
    private static func withAddress<Result>(
        of name: UnixSocketName,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = (name.isAbstract ? [0] : []) + name.text.utf8.dropFirst(name.isAbstract ? 1 : 0)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sockaddr_un>.size - 108 + bytes.count
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }
}

extension Folder {
    /// The address of the Unix-domain socket `name` in it.
    package func address(_ name: String = "s") throws -> SocketAddress {
        SocketAddress(unix: try UnixSocketName(parsing: "unix:\(path)/\(name)"))
    }

    /// The permissions of a file in it; `nil` where there is none.
    package func permissions(of name: String) -> UInt32? {
        var status = stat()
        return lstat("\(path)/\(name)", &status) == 0 ? status.st_mode & 0o777 : nil
    }
}

/// The error number of a call that failed.
package struct Errno: Error, Hashable {
    package let code: Int32

    package init(code: Int32) {
        self.code = code
    }
}

/// How a stream ended for its receiver.
package enum StreamEnding: Hashable {
    case finish
    case reset
    case failure(Int32)
}

/// The sockets that this process has open.
package func openSocketCount() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(folder) }
    var count = 0
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        var target = [CChar](repeating: 0, count: 64)
        let length = readlink("/proc/self/fd/\(name)", &target, 63)
        if length > 7, target[0] == CChar(UInt8(ascii: "s")), target[6] == CChar(UInt8(ascii: ":")) { count += 1 }
    }
    return count
}

/// 127.0.0.1, or ::1, with `port`.
package func loopback(port: UInt16 = 0, isIPv6: Bool = false) -> SocketAddress {
    guard let address = SocketAddress(numericHost: isIPv6 ? "::1" : "127.0.0.1", port: port) else {
        preconditionFailure("a numeric address is always read")
    }
    return address
}

extension StreamSocket {
    /// Makes a socket that connects to `address`; see `connect`.
    package convenience init(connectingTo address: SocketAddress, on loop: EventLoop) throws(SystemError) {
        self.init(closedOn: loop)
        try connect(to: address)
    }
}
