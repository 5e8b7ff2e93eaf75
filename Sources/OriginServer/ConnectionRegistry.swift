import NIOCore
import Synchronization

/// The connections of a server: how many there are, and all of them, when it shuts down.
final class ConnectionRegistry: Sendable {
    /// Whether a connection is taken on.
    enum Admission: Hashable {
        case served
        /// One too many, but it is told so.
        case refused
        /// Far too many, or the server is shutting down: it is closed.
        case dropped
    }

    private struct State {
        var channels: [ObjectIdentifier: any Channel] = [:]
        var isClosing = false
    }

    private let limits: OriginLimits
    private let state = Mutex(State())

    init(limits: OriginLimits) {
        self.limits = limits
    }

    /// How many connections there are.
    var count: Int { state.withLock { $0.channels.count } }

    /// Decides about a new connection, and keeps it until it closes unless it is dropped.
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

    /// Admits nobody any more. Gives the connections that are left, and whether this was the first call.
    func beginClosing() -> (channels: [any Channel], isFirst: Bool) {
        state.withLock { state in
            defer { state.isClosing = true }
            return (Array(state.channels.values), !state.isClosing)
        }
    }
}
