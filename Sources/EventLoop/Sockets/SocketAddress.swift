import CLibevent
import Glibc
import OperatingSystem
import Units

/// The address of a socket: IPv4 or IPv6 and a port, or the name of a Unix-domain socket.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The numeric host: "127.0.0.1" or "::1"; empty for a Unix-domain socket.
    public let host: String
    /// The port, 0…65,535; 0 for a Unix-domain socket.
    public let port: UInt16
    /// The name of a Unix-domain socket; `nil` for IPv4 and IPv6.
    public let unix: UnixSocketName?
    /// Whether the address is one of IPv6.
    public let isIPv6: Bool
    private let scope: UInt32
    /// Whether it is a loopback address: 127.0.0.0/8 or ::1.
    public let isLoopback: Bool

    /// The address of a Unix-domain socket.
    public init(unix: UnixSocketName) {
        (host, port, isIPv6, scope, isLoopback) = ("", 0, false, 0, false)
        self.unix = unix
    }

    /// Reads a numeric address; `nil` when `host` isn't one.
    public init?(numericHost host: String, port: UInt16) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, host, &four) == 1 {
            isIPv6 = false
        } else if inet_pton(AF_INET6, host, &six) == 1 {
            isIPv6 = true
        } else {
            return nil
        }
        self.host = host
        self.port = port
        unix = nil
        scope = 0
        isLoopback = SocketAddress.isLoopback(host, isIPv6)
    }

    /// Reads a `sockaddr`; `nil` for families other than IPv4 and IPv6.
    package init?(_ address: UnsafePointer<sockaddr>) {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let four = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
            var bytes = four.sin_addr
            inet_ntop(AF_INET, &bytes, &text, socklen_t(text.count))
            port = UInt16(bigEndian: four.sin_port)
            isIPv6 = false
            scope = 0
        case AF_INET6:
            let six = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self)
            var bytes = six.sin6_addr
            inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
            port = UInt16(bigEndian: six.sin6_port)
            isIPv6 = true
            scope = six.sin6_scope_id
        default:
            return nil
        }
        host = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        unix = nil
        isLoopback = SocketAddress.isLoopback(host, isIPv6)
    }

    /// The bytes of the IP address in network order, 4 or 16; none of a Unix-domain socket.
    public var bytes: [UInt8] {
        guard unix == nil else { return [] }
        var bytes = [UInt8](repeating: 0, count: isIPv6 ? 16 : 4)
        inet_pton(isIPv6 ? AF_INET6 : AF_INET, host, &bytes)
        return bytes
    }

    /// This address with another port.
    public func with(port: UInt16) -> SocketAddress {
        unix == nil ? SocketAddress(host: host, port: port, isIPv6: isIPv6, scope: scope) : self
    }

    private init(host: String, port: UInt16, isIPv6: Bool, scope: UInt32) {
        self.host = host
        self.port = port
        self.isIPv6 = isIPv6
        self.scope = scope
        unix = nil
        isLoopback = SocketAddress.isLoopback(host, isIPv6)
    }

    private static func isLoopback(_ host: String, _ isIPv6: Bool) -> Bool {
        isIPv6 ? host == "::1" : host.hasPrefix("127.")
    }

    /// "127.0.0.1:8080", "[::1]:8080" or "unix:/run/app.sock".
    public var description: String {
        if let unix { return unix.description }
        return isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    package var family: Int32 { unix != nil ? AF_UNIX : isIPv6 ? AF_INET6 : AF_INET }

    /// Calls `body` with the address as a `sockaddr`.
    package func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        if let unix { return SocketAddress.withSystemAddress(of: unix, body) }
        if isIPv6 {
            var six = sockaddr_in6()
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            six.sin6_scope_id = scope
            inet_pton(AF_INET6, host, &six.sin6_addr)
            return SocketAddress.with(&six, body)
        }
        var four = sockaddr_in()
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &four.sin_addr)
        return SocketAddress.with(&four, body)
    }

    private static func with<Address, Result>(
        _ address: inout Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    /// The address of a socket's peer; `nil` if the connection is over.
    package static func peer(of descriptor: Int32) -> SocketAddress? { told { getpeername(descriptor, $0, $1) } }

    /// The address that a socket is bound to.
    package static func bound(to descriptor: Int32) throws(SystemError) -> SocketAddress {
        guard let address = told(by: { getsockname(descriptor, $0, $1) }) else { throw .last("getsockname") }
        return address
    }

    /// The address that a call of the system fills in; `nil` if it fails.
    private static func told(
        by call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call($0, &length) == 0 ? SocketAddress($0) : nil
            }
        }
    }
}

extension SystemError {
    /// Whether a bind to `address` failed because the machine has switched its family off: no socket of the family, or no
    /// loopback address.
    public func isFamilyMissing(for address: SocketAddress) -> Bool {
        code == EAFNOSUPPORT || code == EADDRNOTAVAIL && address.isLoopback
    }
}
