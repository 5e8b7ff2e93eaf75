import CSeccomp
import EventLoop
import Glibc
import OperatingSystem
import Synchronization

/// Where the proxy's loops and the supervisor meet: how a program's socket is connected once its target is.
///
/// A listener of each family never answers, and programs' sockets connect to it. The proxy's socket for one of them is bound
/// to the listener's address as well, and connects to it.
final class Rendezvous: Sendable {
    /// The number of the network namespace in which the listeners are.
    let network: UInt64
    /// The listeners, of IPv4 and, where the machine has it, of IPv6.
    private let listeners: [(descriptor: Int32, address: SocketAddress)]
    /// Sockets that are bound and don't listen: connections to them are refused.
    private let closed: [(descriptor: Int32, address: SocketAddress)]
    /// The sockets that are connected or connecting, by their addresses. As many as there are ports.
    private let meetings = Mutex<[SocketAddress: Meeting]>([:])

    private struct Meeting {
        let target: SocketAddress
        /// The number of the dial that connects the socket.
        let dial: UInt64
    }

    init() throws(SystemError) {
        let four = try SilentListener.open("127.0.0.1")
        let six = try? SilentListener.open("::1")
        network = squall_network_cookie(four.listener.descriptor)
        listeners = [four.listener] + (six.map { [$0.listener] } ?? [])
        closed = [four.closed] + (six.map { [$0.closed] } ?? [])
    }

    deinit {
        for (descriptor, _) in listeners + closed { close(descriptor) }
    }

    /// The address of the listener for sockets that connect to `target`; `nil` if the machine has no loopback address of its
    /// family.
    func listener(for target: SocketAddress) -> SocketAddress? {
        listeners.first { $0.address.isIPv6 == target.isIPv6 }?.address
    }

    /// An address of the family at which connections are refused.
    func closedAddress(isIPv6: Bool) -> SocketAddress {
        (closed.first { $0.address.isIPv6 == isIPv6 } ?? closed[0]).address
    }

    /// Has a program's socket, which mustn't block, connect to a listener; returns its own address.
    func begin(_ socket: Int32, at listener: SocketAddress) -> Result<SocketAddress, SystemFailure> {
        meetings.withLock { meetings in
            let result = listener.withSystemAddress { Glibc.connect(socket, $0, $1) }
            guard result != 0, errno == EINPROGRESS else {
                return .failure(SystemFailure(code: result == 0 ? EISCONN : errno))
            }
            guard let local = try? SocketAddress.bound(to: socket).canonical else {
                return .failure(SystemFailure(code: errno))
            }
            // The dial for a socket that had the address before would find this one.
            meetings[local] = nil
            return .success(local)
        }
    }

    /// A socket with the address `local` is to be connected to `target`, by a dial.
    func note(_ target: SocketAddress, of local: SocketAddress, by dial: UInt64) {
        meetings.withLock { $0[local] = Meeting(target: target, dial: dial) }
    }

    /// The socket with the address `local` isn't connected by a dial.
    func forget(_ local: SocketAddress, of dial: UInt64) {
        meetings.withLock { if $0[local]?.dial == dial { $0[local] = nil } }
    }

    /// The target of a socket with the address `local` whose peer is `peer`; `nil` if the proxy hasn't connected it.
    func target(of local: SocketAddress, peer: SocketAddress) -> SocketAddress? {
        listeners.contains { $0.address == peer } ? target(of: local) : nil
    }

    /// The target of the latest dial for a socket with the address `local`.
    func target(of local: SocketAddress) -> SocketAddress? { meetings.withLock { $0[local]?.target } }

    /// Whether an address is one of the listeners', or refuses on purpose.
    func isOwn(_ address: SocketAddress) -> Bool { (listeners + closed).contains { $0.address == address } }

    /// Connects the program's socket with the address `local`, for which a dial was made, on any thread; `nil` if it is gone.
    func handOver(to local: SocketAddress, by dial: UInt64) -> DetachedSocket? {
        let socket = connect(to: local, by: dial)
        return socket < 0 ? nil : DetachedSocket(socket, connectedTo: local)
    }

    /// A socket that is connected to that of a program, which connects to the listener; below 0 if there is none, or another
    /// one than that of the dial.
    func connect(to local: SocketAddress, by dial: UInt64) -> Int32 {
        guard let listener = listener(for: local) else { return -1 }
        let socket = SilentListener.make(for: listener, isShared: true)
        guard socket >= 0 else { return -1 }
        // No other socket begins to connect from the address meanwhile.
        let isMet = meetings.withLock { meetings in
            guard meetings[local]?.dial == dial else { return false }
            // The program's end answers during the call.
            let result = local.withSystemAddress { Glibc.connect(socket, $0, $1) }
            return (result == 0 || errno == EINPROGRESS) && isConnected(socket, to: local, from: listener)
        }
        guard isMet else {
            close(socket)
            return -1
        }
        return socket
    }

    /// Whether a socket gets connected to that of a program, within 12 ms. A socket that is in use by a call of its program
    /// answers when the call ends. One that is being closed doesn't answer: a socket that waited on would meet the next one with
    /// the program's address.
    private func isConnected(_ socket: Int32, to local: SocketAddress, from listener: SocketAddress) -> Bool {
        for milliseconds in 0..<12 {
            var entry = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            if poll(&entry, 1, milliseconds == 0 ? 0 : 1) == 1 {
                return entry.revents & Int16(POLLERR | POLLHUP) == 0
            }
            if milliseconds > 0, !isConnecting(.max, at: local) { return false }
        }
        return false
    }

    /// Whether a socket with a cookie, or any, and the address `local` is connecting to the listener, as far as is known
    /// without a descriptor to ask.
    func isConnecting(_ cookie: UInt64, at local: SocketAddress) -> Bool {
        [squall_syn_sent, squall_syn_received, -Int(EMFILE), -Int(ENFILE)].contains(state(cookie, at: local))
    }

    /// Whether a socket with the address `local` is connected to a socket of the proxy.
    func isConnected(at local: SocketAddress) -> Bool {
        let state = state(.max, at: local)
        return state > 0 && ![squall_syn_sent, squall_syn_received, squall_time_wait, squall_closed].contains(state)
    }

    private func state(_ cookie: UInt64, at local: SocketAddress) -> Int {
        guard let listener = listener(for: local) else { return 0 }
        return local.withSystemAddress { own, _ in
            listener.withSystemAddress { peer, _ in Int(squall_socket_state(own, peer, cookie)) }
        }
    }
}

/// A listener whose accept queue stays full, so that the kernel drops every SYN.
enum SilentListener {
    /// Opens one on a free port of `host`, and a socket that doesn't listen.
    static func open(
        _ host: String
    ) throws(SystemError) -> (
        listener: (descriptor: Int32, address: SocketAddress), closed: (descriptor: Int32, address: SocketAddress)
    ) {
        guard let any = SocketAddress(numericHost: host, port: 0) else { preconditionFailure("a numeric host") }
        let listener = make(for: any, isShared: true)
        guard listener >= 0 else { throw .last("bind") }
        let closed = make(for: any, isShared: false)
        guard closed >= 0, listen(listener, 0) == 0 else {
            let error = SystemError.last("listen")
            close(listener)
            throw error
        }
        let address = try SocketAddress.bound(to: listener)
        let filler = socket(any.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(filler) }
        guard filler >= 0, address.withSystemAddress({ Glibc.connect(filler, $0, $1) }) == 0 else {
            let error = SystemError.last("connect")
            close(listener)
            close(closed)
            throw error
        }
        return ((listener, address), (closed, try SocketAddress.bound(to: closed)))
    }

    /// A non-blocking socket bound to an address, which others may share; below 0 on an error.
    static func make(for address: SocketAddress, isShared: Bool) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { return -1 }
        if isShared {
            var one: Int32 = 1
            for option in [SO_REUSEADDR, SO_REUSEPORT] {
                setsockopt(descriptor, SOL_SOCKET, option, &one, socklen_t(MemoryLayout<Int32>.size))
            }
        }
        guard address.withSystemAddress({ bind(descriptor, $0, $1) }) == 0 else {
            let code = errno
            close(descriptor)
            errno = code
            return -1
        }
        return descriptor
    }
}
