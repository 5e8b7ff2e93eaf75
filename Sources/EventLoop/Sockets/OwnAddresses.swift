import Glibc

extension SocketAddress {
    /// Whether a connection to this address arrives at a socket of this machine that listens on `listener`: on the same
    /// address, or on every address of the family where this one is the machine's own; for Unix-domain sockets, on the same
    /// name or file. As a destination, the address that stands for every address means loopback, and an IPv4 address
    /// written as one of IPv6 means IPv4.
    ///
    /// - Parameter ownHosts: the addresses of the machine's interfaces, see `ownHosts`.
    public func reaches(_ listener: SocketAddress, ownHosts: Set<SocketAddress>) -> Bool {
        if unix != nil || listener.unix != nil { return reachesUnixSocket(of: listener) }
        guard listener.port != 0, port == listener.port else { return false }
        let destination = destination
        let listener = listener.canonical
        guard destination.isIPv6 == listener.isIPv6 else { return false }
        guard listener.isWildcard else { return destination.withoutPort == listener.withoutPort }
        return destination.isLoopback || ownHosts.contains(destination.withoutPort)
    }

    /// The address that a connection to this one goes to.
    public var destination: SocketAddress { canonical.isWildcard ? canonical.loopback : canonical }

    /// An address by which other machines reach a socket that listens on this one; see `reachable(_:ownHosts:)`.
    package var reachable: SocketAddress {
        isWildcard ? reachable(SocketAddress.source(isIPv6: isIPv6), ownHosts: SocketAddress.ownHosts()) : self
    }

    /// An address in place of this one, which stands for every address of its family.
    ///
    /// - Parameters:
    ///   - source: the address from which the machine sends by its default route; `nil` without one.
    ///   - ownHosts: the addresses of the machine's interfaces, of which one is taken without a default route; loopback if
    ///     others are link-local.
    package func reachable(_ source: SocketAddress?, ownHosts: Set<SocketAddress>) -> SocketAddress {
        if let source { return source.with(port: port) }
        let hosts = ownHosts.filter { $0.isIPv6 == isIPv6 && !$0.isLoopback && !$0.isLinkLocal }
        return hosts.min { $0.host < $1.host }?.with(port: port) ?? loopback
    }

    /// The address from which the machine sends by its default route; `nil` without one. Nothing is sent.
    private static func source(isIPv6: Bool) -> SocketAddress? {
        // Addresses for documentation (RFC 5737, RFC 3849): the default route leads to them.
        let host = isIPv6 ? "2001:db8::1" : "192.0.2.1"
        guard let distant = SocketAddress(numericHost: host, port: 9) else { return nil }
        let descriptor = socket(distant.family, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard distant.withSystemAddress({ connect(descriptor, $0, $1) }) == 0 else { return nil }
        return try? SocketAddress.bound(to: descriptor)
    }

    /// The addresses of this machine's interfaces now, `withoutPort` (getifaddrs(3)); none if that fails.
    public static func ownHosts() -> Set<SocketAddress> {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var hosts: Set<SocketAddress> = []
        var entry = list
        while let current = entry {
            if let raw = current.pointee.ifa_addr, let address = SocketAddress(UnsafePointer(raw)) {
                hosts.insert(address.withoutPort)
            }
            entry = current.pointee.ifa_next
        }
        return hosts
    }
}
