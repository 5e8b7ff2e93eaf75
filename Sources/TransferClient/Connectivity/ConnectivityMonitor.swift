/// Reports whether a host is reachable, as far as local interfaces and routes tell.
public protocol ConnectivityMonitor: Sendable {
    /// Whether there is a route to `host`, a name or an address without brackets.
    func isConnected(to host: String) -> Bool
    /// Returns when there is a route to `host`, after `limit`, or when the task is cancelled.
    func waitUntilConnected(to host: String, within limit: Duration) async
}
