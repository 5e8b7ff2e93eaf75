import Digests

/// The routes of this machine, from `/proc/net/route` and `/proc/net/ipv6_route`.
struct RouteTable: Hashable, Sendable {
    /// An IPv4 or IPv6 route: network address and prefix length, interface, and metric.
    struct Route: Hashable, Sendable {
        var network: [UInt8]
        var prefixLength: Int
        var interface: String
        var metric: UInt32

        func contains(_ address: [UInt8]) -> Bool {
            guard address.count == network.count else { return false }
            for bit in 0..<prefixLength where (address[bit / 8] ^ network[bit / 8]) & (0x80 >> (bit % 8)) != 0 {
                return false
            }
            return true
        }
    }

    private(set) var routes: [Route] = []

    /// The maximum number of routes read from a file: 4,096.
    static let maximumRoutes = 4_096

    /// `RTF_UP` and `RTF_REJECT` of the kernel.
    private static let (up, reject): (UInt32, UInt32) = (0x1, 0x200)

    /// Parses both files; skips invalid lines.
    init(ipv4: String, ipv6: String) {
        for line in ipv4.split(separator: "\n").dropFirst().prefix(Self.maximumRoutes) {
            let words = line.split { $0 == "\t" || $0 == " " }
            guard words.count >= 8, words[0] != "lo", let flags = UInt32(words[3], radix: 16),
                flags & Self.up != 0, flags & Self.reject == 0,
                // The kernel prints integers in host order, which is little-endian.
                let network = UInt32(words[1], radix: 16), let mask = UInt32(words[7], radix: 16)
            else { continue }
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: network >> ($0 * 8)) }
            routes.append(
                Route(
                    network: bytes,
                    prefixLength: mask.nonzeroBitCount,
                    interface: String(words[0]),
                    metric: UInt32(words[6]) ?? 0
                )
            )
        }
        for line in ipv6.split(separator: "\n").prefix(Self.maximumRoutes) {
            let words = line.split(separator: " ")
            guard words.count >= 10, words[9] != "lo", words[0].utf8.count == 32,
                let length = Int(words[1], radix: 16), length <= 128,
                let flags = UInt32(words[8], radix: 16), flags & Self.up != 0, flags & Self.reject == 0,
                let bytes = [UInt8](hexadecimal: words[0])
            else { continue }
            let metric = UInt32(words[5], radix: 16) ?? 0
            routes.append(Route(network: bytes, prefixLength: length, interface: String(words[9]), metric: metric))
        }
    }

    /// The interface of the route to an address: of the longest prefix, then of the lowest metric. Without an address that
    /// of the default route, of IPv4 if there is one. `nil` without a route.
    func interface(to address: [UInt8]?) -> String? {
        let found = routes.filter { route in address.map { route.contains($0) } ?? (route.prefixLength == 0) }
        return found.min {
            (-$0.prefixLength, $0.network.count, $0.metric) < (-$1.prefixLength, $1.network.count, $1.metric)
        }?.interface
    }

    /// Whether there is a route to an address; without an address, whether there is a default route.
    func reaches(_ address: [UInt8]?) -> Bool {
        guard let address else { return routes.contains { $0.prefixLength == 0 } }
        return routes.contains { $0.contains(address) }
    }
}
