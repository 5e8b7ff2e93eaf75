import CSeccomp
import EventLoop
import Glibc
import OperatingSystem
import ProxyEngine
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
        /// The number of the dial that connects the socket; 0 when that is over.
        var dial: UInt64
        /// The proxy's socket, while it connects.
        var socket: Int32?
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
        for meeting in meetings.withLock({ $0.values.compactMap(\.socket) }) { Rendezvous.reset(meeting) }
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
            var result = Rendezvous.connect(socket, to: listener)
            // The dial for a socket that had the address before would find this one, and may have done so.
            while case .success(let local) = result, let other = meetings.removeValue(forKey: local)?.socket {
                Rendezvous.reset(other)
                Rendezvous.disconnect(socket)
                result = Rendezvous.connect(socket, to: listener)
            }
            return result
        }
    }

    private static func connect(_ socket: Int32, to listener: SocketAddress) -> Result<SocketAddress, SystemFailure> {
        let result = listener.withSystemAddress { Glibc.connect(socket, $0, $1) }
        guard result != 0, errno == EINPROGRESS else {
            return .failure(SystemFailure(code: result == 0 ? EISCONN : errno))
        }
        guard let local = try? SocketAddress.bound(to: socket).canonical else {
            return .failure(SystemFailure(code: errno))
        }
        return .success(local)
    }

    /// Ends the connect of a socket, or its connection (connect(2)).
    static func disconnect(_ socket: Int32) {
        var none = sockaddr()
        none.sa_family = sa_family_t(AF_UNSPEC)
        _ = Glibc.connect(socket, &none, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Closes a socket; its peer gets a RST.
    private static func reset(_ socket: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close(socket)
    }

    /// A socket with the address `local` is to be connected to `target`, by a dial.
    func note(_ target: SocketAddress, of local: SocketAddress, by dial: UInt64) {
        meetings.withLock { $0[local] = Meeting(target: target, dial: dial) }
    }

    /// The socket with the address `local` isn't connected by a dial any more; with `isForgotten` it wasn't.
    func end(_ dial: UInt64, at local: SocketAddress, isForgotten: Bool) {
        meetings.withLock { meetings in
            guard let meeting = meetings[local], meeting.dial == dial else { return }
            if let socket = meeting.socket { Rendezvous.reset(socket) }
            meetings[local] = isForgotten ? nil : Meeting(target: meeting.target, dial: 0)
        }
    }

    /// The target of a socket with the address `local` whose peer is `peer`; `nil` if the proxy hasn't connected it.
    func target(of local: SocketAddress, peer: SocketAddress) -> SocketAddress? {
        listeners.contains { $0.address == peer } ? target(of: local) : nil
    }

    /// The target of the latest dial for a socket with the address `local`.
    func target(of local: SocketAddress) -> SocketAddress? { meetings.withLock { $0[local]?.target } }

    /// Whether an address is one of the listeners', or refuses on purpose.
    func isOwn(_ address: SocketAddress) -> Bool { (listeners + closed).contains { $0.address == address } }

    /// Connects the program's socket with the address `local`, for which a dial was made, on any thread.
    func handOver(to local: SocketAddress, by dial: UInt64) -> LocalClient.HandOver {
        let socket = connect(to: local, by: dial)
        return switch -socket {
        case EINPROGRESS: .connecting
        case EMFILE, ENFILE: .failed(SystemError(call: "socket", code: -socket))
        case 1...: .gone
        default: .connected(DetachedSocket(socket, connectedTo: local))
        }
    }

    /// A socket that is connected to that of a program, which connects to the listener. −EINPROGRESS if that has to be asked
    /// again: the program's socket is in use by a call, or packets are delayed. −errno if there is none, or another one than that
    /// of the dial.
    func connect(to local: SocketAddress, by dial: UInt64) -> Int32 {
        guard let listener = listener(for: local), let meeting = meetings.withLock({ $0[local] }), meeting.dial == dial
        else { return -ECONNRESET }
        let isFirst = meeting.socket == nil
        let socket = meeting.socket ?? makeSocket(at: listener)
        guard socket >= 0 else { return -errno }
        return meetings.withLock { meetings in
            // No other socket has begun to connect from the address: it would have closed this one.
            guard meetings[local]?.dial == dial else {
                if isFirst { close(socket) }
                return -ECONNRESET
            }
            // The program's end answers during the call.
            let result = isFirst ? local.withSystemAddress { Glibc.connect(socket, $0, $1) } : 0
            let hasBegun = result == 0 || errno == EINPROGRESS
            let code = hasBegun ? progress(of: socket, to: local, isFirst: isFirst) : ECONNRESET
            meetings[local]?.socket = code == EINPROGRESS ? socket : nil
            if ![0, EINPROGRESS].contains(code) { close(socket) }
            return code == 0 ? socket : -code
        }
    }

    private func makeSocket(at listener: SocketAddress) -> Int32 {
        let socket = SilentListener.make(for: listener, isShared: true)
        // The program may want packets that no router has passed on (IP_MINTTL, RFC 5082).
        var hops: Int32 = 255
        let (level, option) = listener.isIPv6 ? (IPPROTO_IPV6, IPV6_UNICAST_HOPS) : (IPPROTO_IP, IP_TTL)
        if socket >= 0 { setsockopt(socket, Int32(level), option, &hops, socklen_t(MemoryLayout<Int32>.size)) }
        return socket
    }

    /// 0 when a socket is connected to that of a program, EINPROGRESS while it may get so, and ECONNRESET when the program's is
    /// closed: a socket that waited on would meet the next one with the program's address.
    private func progress(of socket: Int32, to local: SocketAddress, isFirst: Bool) -> Int32 {
        var entry = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
        let isReady = poll(&entry, 1, 0) == 1
        if entry.revents & Int16(POLLERR | POLLHUP) != 0 { return ECONNRESET }
        // Where packets are delayed, the program's end is connected later than this one.
        if isReady, isFirst || isConnected(.max, at: local) { return 0 }
        return isConnecting(.max, at: local) || isConnected(.max, at: local) ? EINPROGRESS : ECONNRESET
    }

    /// Whether a socket with a cookie, or any, and the address `local` is connecting to the listener, as far as is known
    /// without a descriptor to ask.
    func isConnecting(_ cookie: UInt64, at local: SocketAddress) -> Bool {
        [squall_syn_sent, squall_syn_received, -Int(EMFILE), -Int(ENFILE)].contains(state(cookie, at: local))
    }

    /// Whether a socket with a cookie, or any, and the address `local` is connected to a socket of the proxy.
    func isConnected(_ cookie: UInt64, at local: SocketAddress) -> Bool {
        let state = state(cookie, at: local)
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
