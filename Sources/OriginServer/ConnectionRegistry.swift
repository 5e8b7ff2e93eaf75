import NIOCore
import Synchronization

/// The open connections of a server.
final class ConnectionRegistry: Sendable {
    /// Whether a connection is accepted.
    enum Admission: Hashable {
        case served
        /// Beyond the limit: gets a 503.
        case refused
        /// Far beyond the limit, or at shutdown: closed immediately.
        case dropped
    }

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosing = false
    }

    private let limits: OriginLimits
    private let state = Mutex(State())

    init(limits: OriginLimits) { self.limits = limits }

    /// The number of connections.
    var count: Int { state.withLock { $0.channels.count } }

    /// Decides on a new connection, and tracks it until it closes unless it is dropped.
    func admit(_ channel: any Channel) -> Admission {
        let admission = state.withLock { state -> Admission in
            let count = state.channels.count
            guard !state.isClosing, count < limits.connections + limits.refusedConnections else { return .dropped }
            state.channels[ObjectIdentifier(channel)] = channel
            return count < limits.connections ? .served : .refused
        }
        if admission != .dropped {
            channel.closeFuture.whenComplete { _ in
                self.state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
            }
        }
        return admission
    }

    /// Stops admitting connections. Returns the open ones, and whether this was the first call.
    func beginClosing() -> (channels: [any Channel], isFirst: Bool) {
        state.withLock { state in
            defer { state.isClosing = true }
            return (Array(state.channels.values), !state.isClosing)
        }
    }
}
