import EventLoop

/// The HTTP server of the control API, which a module provides that links a server.
package protocol ControlServing: Sendable {
    /// Listens on `host` and `port`, and serves responses of `handler` until `stop` returns; then open responses have 2 s to
    /// end.
    ///
    /// - Parameters:
    ///   - connectionLimit: The most connections at a time; more wait.
    ///   - report: Called with errno when connections can't be accepted, as often as that is tried.
    ///   - ready: Called once with the port.
    func run(
        _ handler: ControlHandler,
        host: String,
        port: Int,
        connectionLimit: Int,
        report: @escaping @Sendable (CInt) -> Void,
        ready: @escaping @Sendable (Int) async -> Void,
        until stop: @escaping @Sendable () async -> Void
    ) async throws(ControlServerFailure)
}

extension ControlServing {
    /// The host to listen on for `host`: of a name the first address of IPv4, as in Go, and otherwise `host` itself.
    package func address(of host: String) async -> String {
        guard let address = try? await ListenText.addresses(Endpoint(host: host, port: 0)).first else { return host }
        return address.isIPv6 ? host : address.host
    }
}

/// The most connections to a control server at a time, unless fewer are given: 1,024.
package let controlConnectionLimit = 1_024

/// Why the server of the control API ended, or didn't start.
package struct ControlServerFailure: Error, Sendable {
    package let description: String
    /// The error number of the system, if it is the system's.
    package let errno: Int32?
    /// Whether the name of the address isn't known.
    package let isNameUnknown: Bool

    package init(description: String, errno: Int32?, isNameUnknown: Bool = false) {
        (self.description, self.errno, self.isNameUnknown) = (description, errno, isNameUnknown)
    }
}
