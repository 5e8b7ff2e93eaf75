import Glibc

/// The congestion control of sockets between programs of this machine, tcp(7).
///
/// On a hop that never leaves the machine there is no bottleneck to be found and nothing to be fair to. Where the
/// system's way is to pace what is sent (bbr), timers and probes make such a hop slower than it is, and what a profile
/// says comes on top; so it gets the way that sends what it may at once. See docs/decisions/0016-no-pacing-on-loopback.md.
enum CongestionControl {
    /// Takes the pacing from a socket that isn't connected yet, if it is one for an address of loopback and the system
    /// paces. A listening socket hands it on to those that it accepts.
    static func endPacing(_ descriptor: Int32, for address: SocketAddress) {
        guard address.isLoopback, let name = substitute else { return }
        // Refused, it stays as it is: slower, and as right.
        _ = name.withCString { setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, $0, socklen_t(strlen($0))) }
    }

    /// What a local hop has in the place of the system's way; `nil` when that can stay.
    static func substitute(for name: String) -> String? { name.hasPrefix("bbr") ? "reno" : nil }

    /// The way of a socket: "cubic".
    static func name(of descriptor: Int32) -> String {
        // TCP_CA_NAME_MAX of the kernel.
        var text = [CChar](repeating: 0, count: 16)
        var length = socklen_t(text.count)
        getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &text, &length)
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// What the system's own way is replaced by, asked once.
    private static let substitute: String? = {
        guard let descriptor = try? SystemSocket.make(family: AF_INET) else { return nil }
        defer { close(descriptor) }
        return substitute(for: name(of: descriptor))
    }()
}
