import Glibc

extension SocketAddress {
    /// Whether a connection to this address arrives at a socket of this machine that listens on `listener`: on the same
    /// address, or on every address of the family where this one is the machine's own; for Unix-domain sockets, on the same
    /// name or file. As a destination, the address that stands for every address means loopback, and an IPv4 address
    /// written as one of IPv6 means IPv4.
    ///
    /// - Parameter ownHosts: the addresses of the machine's interfaces, see `ownHosts`.
    public func reaches(_ listener: SocketAddress, ownHosts: Set<String>) -> Bool {
        if unix != nil || listener.unix != nil { return reachesUnixSocket(of: listener) }
        guard listener.port != 0, port == listener.port else { return false }
        let destination = destination
        let listener = listener.canonical
        guard destination.isIPv6 == listener.isIPv6 else { return false }
        guard listener.isWildcard else { return destination.host == listener.host }
        return destination.isLoopback || ownHosts.contains(destination.host)
    }

    /// The address that a connection to this one goes to.
    public var destination: SocketAddress { canonical.isWildcard ? canonical.loopback : canonical }

    /// The addresses of this machine's interfaces now, without ports (getifaddrs(3)); none where the system doesn't say.
    public static func ownHosts() -> Set<String> {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var hosts: Set<String> = []
        var entry = list
        while let current = entry {
            if let raw = current.pointee.ifa_addr, let address = SocketAddress(UnsafePointer(raw)) {
                hosts.insert(address.host)
            }
            entry = current.pointee.ifa_next
        }
        return hosts
    }
}
