import EventLoop
import Glibc
import OperatingSystem

/// A connection of the supervisor to the forward proxy, which names a target by SOCKS5 (RFC 1928) and waits for the outcome.
///
/// It has no descriptor of a program: once the target is connected, the proxy goes on with another socket and ends this one.
struct ProxyDial {
    /// The socket, non-blocking.
    let descriptor: Int32
    /// The port of the socket.
    let port: UInt16
    private var request: [UInt8]
    private var reply: [UInt8] = []

    /// Begins to connect to `proxy` for `target`.
    init(_ target: SocketAddress, by proxy: SocketAddress) throws(SystemError) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(proxy.family, type, 0)
        guard descriptor >= 0 else { throw .last("socket") }
        self.descriptor = descriptor
        let result = proxy.withSystemAddress { Glibc.connect(descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else {
            let error = SystemError.last("connect")
            close(descriptor)
            throw error
        }
        do throws(SystemError) {
            port = try SocketAddress.bound(to: descriptor).port
        } catch {
            close(descriptor)
            throw error
        }
        // The greeting, without authentication, and the request at once.
        let host = target.withSystemAddress { address, _ in
            UnsafeRawBufferPointer(
                start: UnsafeRawPointer(address) + (target.isIPv6 ? 8 : 4),
                count: target.isIPv6 ? 16 : 4
            ).map(\.self)
        }
        request =
            [5, 1, 0, 5, 1, 0, target.isIPv6 ? 4 : 1] + host + [UInt8(target.port >> 8), UInt8(target.port & 0xFF)]
    }

    /// Goes on when the socket is ready; `wasHandedOver` says whether the proxy has connected the program's socket. Returns the
    /// outcome, once it is known.
    mutating func advance(wasHandedOver: () -> Bool) -> DialOutcome? {
        while !request.isEmpty {
            let count = request.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 {
                switch errno {
                case EAGAIN, ENOTCONN: return nil
                case EINTR: continue
                // The proxy refuses its clients, as an outage has it.
                default: return .failed(ECONNREFUSED)
                }
            }
            request.removeFirst(count)
        }
        while true {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            if count > 0 {
                reply += bytes.prefix(count)
            } else if count == 0 {
                return wasHandedOver() ? .connected : reply.count > 3 ? .failed(ProxyDial.code(reply[3])) : .closed
            } else if errno == EAGAIN {
                // The method, then the reply to the request. A success means that the program's socket was gone.
                return reply.count > 3 ? .failed(ProxyDial.code(reply[3])) : nil
            } else if errno != EINTR {
                return wasHandedOver() ? .connected : .failed(ECONNREFUSED)
            }
        }
    }

    /// The errno value for a reply (RFC 1928, section 6).
    private static func code(_ reply: UInt8) -> Int32 {
        switch reply {
        case 0: ECONNABORTED
        case 2: EACCES
        case 3: ENETUNREACH
        case 4: EHOSTUNREACH
        case 6: ETIMEDOUT
        default: ECONNREFUSED
        }
    }
}
