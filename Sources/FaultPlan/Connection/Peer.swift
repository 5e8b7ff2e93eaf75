/// One of the two ends of a proxied connection.
public enum Peer: Hashable, Sendable, CaseIterable {
    /// The end that connected to the proxy.
    case client
    /// The end that the proxy connected to.
    case server

    /// The end whose bytes flow in `direction`.
    public init(sourceOf direction: Direction) {
        switch direction {
        case .upstream: self = .client
        case .downstream: self = .server
        }
    }

    /// The end that receives the bytes of `direction`.
    public init(sinkOf direction: Direction) {
        switch direction {
        case .upstream: self = .server
        case .downstream: self = .client
        }
    }

    /// The end at the other side.
    public var other: Peer {
        switch self {
        case .client: .server
        case .server: .client
        }
    }
}
