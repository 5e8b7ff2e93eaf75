import Glibc

/// The congestion control of sockets between programs of this machine, tcp(7).
///
/// A loopback hop has no bottleneck. If the system's default paces (bbr), timers and probes make such a hop slow in addition
/// to the profile, so it gets an unpaced algorithm. See docs/decisions/0015-splice-in-bulk.md.
enum CongestionControl {
    /// Disables pacing on an unconnected socket for a loopback address, if the system's default paces. Accepted sockets
    /// inherit it from the listener.
    static func endPacing(_ descriptor: Int32, for address: SocketAddress) {
        guard address.isLoopback, let name = substitute else { return }
        // A refusal only makes the socket slower.
        _ = name.withCString { setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, $0, socklen_t(strlen($0))) }
    }

    /// The algorithm for a local hop; `nil` to keep the system's.
    static func substitute(for name: String) -> String? { name.hasPrefix("bbr") ? "reno" : nil }

    /// The algorithm of a socket: "cubic".
    static func name(of descriptor: Int32) -> String {
        // TCP_CA_NAME_MAX of the kernel.
        var text = [CChar](repeating: 0, count: 16)
        var length = socklen_t(text.count)
        getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &text, &length)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The replacement of the system's default, determined once.
    private static let substitute: String? = {
        guard let descriptor = try? SystemSocket.make(family: AF_INET) else { return nil }
        defer { close(descriptor) }
        return substitute(for: name(of: descriptor))
    }()
}
