import EventLoop

extension ProxyConfiguration {
    /// Where a proxy forwards to.
    public enum Destination: Hashable, Sendable, CustomStringConvertible {
        /// One server. A name is looked up again every 30 s while connections come, and when none of its addresses can be
        /// reached; if that fails, the addresses stay.
        case upstream(Endpoint)
        /// The target that each client names in a handshake: HTTP CONNECT, HTTP in absolute form, or SOCKS5. A name is
        /// looked up for each connection.
        case requested(ForwardPolicy)

        /// The endpoint of the only server; `nil` if clients name their targets.
        public var upstream: Endpoint? {
            switch self {
            case .upstream(let endpoint): endpoint
            case .requested: nil
            }
        }

        /// The policy for clients that name their targets; `nil` for one server.
        public var policy: ForwardPolicy? {
            switch self {
            case .upstream: nil
            case .requested(let policy): policy
            }
        }

        /// "127.0.0.1:80", or "any host".
        public var description: String {
            switch self {
            case .upstream(let endpoint): "\(endpoint)"
            case .requested: "any host"
            }
        }
    }
}
