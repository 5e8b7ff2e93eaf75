/// The HTTP server of the control API, which a module provides that links a server.
public protocol ControlServing: Sendable {
    /// Listens on `host` and `port`, and serves responses of `handler` until `stop` returns; then open responses have 2 s to
    /// end.
    ///
    /// - Parameter ready: called once with the port.
    func run(
        _ handler: ControlHandler,
        host: String,
        port: Int,
        ready: @escaping @Sendable (Int) async -> Void,
        until stop: @escaping @Sendable () async -> Void
    ) async throws(ControlServerFailure)
}

/// Why the server of the control API ended, or didn't start.
public struct ControlServerFailure: Error, Sendable {
    /// The system's message.
    public let description: String
    /// Whether the port is taken.
    public let isAddressInUse: Bool

    /// Makes a failure.
    public init(description: String, isAddressInUse: Bool) {
        self.description = description
        self.isAddressInUse = isAddressInUse
    }
}
