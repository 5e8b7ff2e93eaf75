import CLibevent
import Glibc
import OperatingSystem
import Units

/// The address of a socket: IPv4 or IPv6 and a port, or the name of a Unix-domain socket.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The bytes of the IP address as a number; those of IPv4 are the lower half of `low`.
    private let high: UInt64
    private let low: UInt64
    private let scope: UInt32
    /// The port, 0…65,535; 0 for a Unix-domain socket.
    public let port: UInt16
    /// Whether the address is one of IPv6.
    public let isIPv6: Bool
    /// The name of a Unix-domain socket; `nil` for IPv4 and IPv6.
    public let unix: UnixSocketName?

    private init(high: UInt64 = 0, low: UInt64, port: UInt16, isIPv6: Bool, scope: UInt32 = 0) {
        (self.high, self.low, self.scope) = (high, low, scope)
        (self.port, self.isIPv6) = (port, isIPv6)
        unix = nil
    }

    /// The address of a Unix-domain socket.
    public init(unix: UnixSocketName) {
        (high, low, scope, port, isIPv6) = (0, 0, 0, 0, false)
        self.unix = unix
    }

    /// Reads a numeric address; `nil` when `host` isn't one.
    public init?(numericHost host: String, port: UInt16) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, host, &four) == 1 {
            self.init(four, port: port)
        } else if inet_pton(AF_INET6, host, &six) == 1 {
            self.init(six, port: port, scope: 0)
        } else {
            return nil
        }
    }

    /// Reads a `sockaddr`; `nil` for families other than IPv4 and IPv6.
    package init?(_ address: UnsafePointer<sockaddr>) {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let four = raw.loadUnaligned(as: sockaddr_in.self)
            self.init(four.sin_addr, port: UInt16(bigEndian: four.sin_port))
        case AF_INET6:
            let six = raw.loadUnaligned(as: sockaddr_in6.self)
            self.init(six.sin6_addr, port: UInt16(bigEndian: six.sin6_port), scope: six.sin6_scope_id)
        default:
            return nil
        }
    }

    private init(_ four: in_addr, port: UInt16) {
        self.init(low: UInt64(UInt32(bigEndian: four.s_addr)), port: port, isIPv6: false)
    }

    private init(_ six: in6_addr, port: UInt16, scope: UInt32) {
        let (high, low) = unsafeBitCast(six, to: (UInt64, UInt64).self)
        self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low), port: port, isIPv6: true, scope: scope)
    }

    private var four: in_addr { in_addr(s_addr: UInt32(truncatingIfNeeded: low).bigEndian) }

    private var six: in6_addr { unsafeBitCast((high.bigEndian, low.bigEndian), to: in6_addr.self) }

    /// The numeric host: "127.0.0.1" or "::1" (RFC 5952); empty for a Unix-domain socket.
    public var host: String {
        guard unix == nil else { return "" }
        return isIPv6 ? SocketAddress.text(of: six, family) : SocketAddress.text(of: four, family)
    }

    private static func text<Address>(of address: Address, _ family: Int32) -> String {
        withUnsafePointer(to: address) { address in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
                guard let start = text.baseAddress else { return "" }
                inet_ntop(family, address, start, socklen_t(text.count))
                return String(cString: start)
            }
        }
    }

    /// Whether it is a loopback address: 127.0.0.0/8 or ::1.
    public var isLoopback: Bool { unix == nil && (isIPv6 ? high == 0 && low == 1 : low >> 24 == 127) }

    /// Whether it stands for every address: 0.0.0.0 or ::.
    package var isWildcard: Bool { unix == nil && high == 0 && low == 0 }

    /// Whether it is an IPv4 address written as one of IPv6 (RFC 4291, section 2.5.5.2).
    package var isMapped: Bool { isIPv6 && high == 0 && low >> 32 == 0xffff }

    /// An IPv4-mapped address as one of IPv4, and others as they are.
    public var canonical: SocketAddress {
        isMapped ? SocketAddress(low: low & 0xffff_ffff, port: port, isIPv6: false) : self
    }

    /// An address of IPv4 as one of IPv6, and others as they are.
    package var mapped: SocketAddress {
        isIPv6 || unix != nil ? self : SocketAddress(low: 0xffff << 32 | low, port: port, isIPv6: true)
    }

    /// The loopback address of the same family and port: 127.0.0.1 or ::1, which is written as IPv6 if this one is mapped.
    package var loopback: SocketAddress {
        let four: UInt64 = 0x7f00_0001
        return SocketAddress(low: isMapped ? 0xffff << 32 | four : isIPv6 ? 1 : four, port: port, isIPv6: isIPv6)
    }

    /// The bytes of the IP address in network order, 4 or 16; none of a Unix-domain socket.
    public var bytes: [UInt8] {
        guard unix == nil else { return [] }
        return isIPv6 ? withUnsafeBytes(of: six) { Array($0) } : withUnsafeBytes(of: four) { Array($0) }
    }

    /// This address with another port.
    public func with(port: UInt16) -> SocketAddress {
        unix == nil ? SocketAddress(high: high, low: low, port: port, isIPv6: isIPv6, scope: scope) : self
    }

    /// The address without its port, and without a zone unless it is link-local: elsewhere a zone means nothing.
    public var withoutPort: SocketAddress {
        guard unix == nil else { return self }
        return SocketAddress(high: high, low: low, port: 0, isIPv6: isIPv6, scope: isLinkLocal ? scope : 0)
    }

    /// Whether it is in 169.254.0.0/16 or fe80::/10.
    package var isLinkLocal: Bool {
        unix == nil && (isIPv6 ? high >> 54 == 0xfe80 >> 6 : low >> 16 == 169 << 8 | 254)
    }

    /// "127.0.0.1:8080", "[::1]:8080", "[fe80::1%eth0]:8080" or "unix:/run/app.sock".
    public var description: String {
        if let unix { return unix.description }
        return isIPv6 ? "[\(host)\(zone)]:\(port)" : "\(host):\(port)"
    }

    /// The interface of a link-local address, with a percent sign before it (RFC 4007, section 11.2); empty for others.
    private var zone: String {
        guard scope != 0 else { return "" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(IF_NAMESIZE)) { name in
            guard let start = name.baseAddress, if_indextoname(scope, start) != nil else { return "%\(scope)" }
            return "%" + String(cString: start)
        }
    }

    package var family: Int32 { unix != nil ? AF_UNIX : isIPv6 ? AF_INET6 : AF_INET }

    /// Calls `body` with the address as a `sockaddr`.
    package func withSystemAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        if let unix { return SocketAddress.withSystemAddress(of: unix, body) }
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            address.sin6_addr = six
            return SocketAddress.with(&address, body)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr = four
        return SocketAddress.with(&address, body)
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
    /// Whether a bind or a connect to `address` failed because the machine has switched its family off: no socket of the family, or no
    /// loopback address.
    public func isFamilyMissing(for address: SocketAddress) -> Bool {
        code == EAFNOSUPPORT || code == EADDRNOTAVAIL && address.isLoopback
    }
}
