/// Tells whether the network can reach a host, as far as this machine's own interfaces and routes go.
public protocol ConnectivityMonitor: Sendable {
    /// Whether there is a way to `host`, a name or an address without brackets.
    func isConnected(to host: String) -> Bool
    /// Returns when there is a way to `host`, after `limit`, or when the task is cancelled.
    func waitUntilConnected(to host: String, within limit: Duration) async
}
