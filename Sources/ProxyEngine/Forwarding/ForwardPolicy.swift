import EventLoop
import FaultProfile
import StreamReading

/// Who may use a forward proxy, and what it connects to.
public struct ForwardPolicy: Hashable, Sendable {
    /// The addresses of the clients that may connect; empty for all.
    public var clients: [AddressRange]
    /// The password that clients must give; `nil` for none.
    public var password: ProxyPassword?
    /// Whether targets may be the machine's own addresses, where other machines can be clients, and link-local ones.
    public var allowsLocalTargets: Bool

    /// Makes a policy; by default everybody may connect, which `Proxy.start` only accepts on loopback addresses.
    public init(clients: [AddressRange] = [], password: ProxyPassword? = nil, allowsLocalTargets: Bool = false) {
        self.clients = clients
        self.password = password
        self.allowsLocalTargets = allowsLocalTargets
    }

    /// Whether a client at `address` may connect; one whose address is unknown (`nil`) is not in the list.
    func admits(_ address: SocketAddress?) -> Bool {
        if clients.isEmpty { return true }
        guard let address, let client = IPAddress(address.host) else { return false }
        return clients.contains { $0.contains(client) }
    }

    /// Whether clients from other machines could connect at `addresses` without being asked for anything.
    func isOpen(at addresses: [SocketAddress]) -> Bool {
        clients.isEmpty && password == nil && addresses.contains { $0.isExposed }
    }

    /// The addresses of a target that may be dialed by a proxy that listens on `listen`.
    ///
    /// - Parameter ownHosts: the addresses of the machine, see `SocketAddress.ownHosts`.
    func allowed(
        _ addresses: [SocketAddress],
        listen: [SocketAddress],
        ownHosts: @autoclosure () -> Set<SocketAddress>
    ) -> [SocketAddress] {
        if allowsLocalTargets { return addresses }
        let isExposed = listen.contains { $0.isExposed }
        let ownHosts = isExposed ? ownHosts() : []
        return addresses.filter { address in
            let destination = address.destination
            guard let number = IPAddress(destination.host) else { return false }
            if ForwardPolicy.refused.contains(where: { $0.contains(number) }) { return false }
            return !isExposed || !destination.isLoopback && !ownHosts.contains(destination.withoutPort)
        }
    }

    /// Link-local addresses (RFC 3927, RFC 4291), at which most clouds have their metadata services, and those of the services
    /// of Alibaba Cloud, Oracle, Azure, AWS and Google, in this order. Only this machine should reach them.
    static let refused = [
        "169.254.0.0/16", "fe80::/10", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254",
        "fd20:ce::254",
    ].compactMap { try? AddressRange(parsing: $0) }
}

extension SocketAddress {
    /// Whether other machines may connect when a proxy listens on it.
    fileprivate var isExposed: Bool { unix == nil && !canonical.isLoopback }
}
