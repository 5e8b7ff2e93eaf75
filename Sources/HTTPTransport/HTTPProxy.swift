/// An HTTP proxy that connections go through.
public struct HTTPProxy: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The host: a name, or an address without brackets.
    public let host: String
    /// The port, 1 to 65535.
    public let port: Int
    /// The value of `Proxy-Authorization`, never printed; `nil` for none.
    let authorization: String?

    /// Makes a proxy from its host and port.
    ///
    /// - Parameter authorization: The value of `Proxy-Authorization` (RFC 9110, section 11.7.2).
    public init(host: String, port: Int, authorization: String? = nil) {
        self.host = host
        self.port = port
        self.authorization = authorization
    }

    /// The host and the port.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    /// The host and the port.
    public var debugDescription: String { description }
    /// No children, so that dumps don't show credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A failure to open a tunnel through a proxy.
public struct HTTPProxyFailure: Error, Hashable, Sendable {
    /// The proxy.
    public let proxy: HTTPProxy
    /// The status of its response; `nil` without a response.
    public let status: Int?
    /// The value of `Proxy-Authenticate` in a 407.
    public let challenge: String?
}
