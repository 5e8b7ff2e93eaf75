import Synchronization
import Units

/// The progress of one request of an upload: the bytes that were handed to the connection, and those that the server has
/// promised to have. Its events are in order, and no two follow each other closely.
final class UploadProgress: Sendable {
    private struct State {
        var sent: Int64
        var acknowledged: Int64
        var toldAt: Moment?
    }

    private let total: Int64
    private let configuration: TransferClientConfiguration
    private let onEvent: @Sendable (UploadEvent) -> Void
    private let state: Mutex<State>

    /// Begins at what is known before the request.
    init(
        sent: Int64,
        acknowledged: Int64,
        total: Int64,
        _ configuration: TransferClientConfiguration,
        _ onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) {
        self.total = total
        self.configuration = configuration
        self.onEvent = onEvent
        state = Mutex(State(sent: sent, acknowledged: acknowledged))
    }

    /// The bytes up to `offset` were handed to the connection.
    func sent(_ offset: Int64) {
        change {
            $0.sent = offset
        } isLast: {
            $0.sent == total
        }
    }

    /// The server has promised the bytes up to `offset`.
    func acknowledged(_ offset: Int64) {
        change {
            $0.acknowledged = offset
        } isLast: {
            $0.acknowledged == total
        }
    }

    /// Changes the state, and tells it unless another event was told just before. The last of its kind is always told.
    private func change(_ body: (inout State) -> Void, isLast: (State) -> Bool) {
        let now = configuration.clock.now()
        // Two events from two tasks would change places outside of the lock.
        state.withLock { state in
            body(&state)
            if let toldAt = state.toldAt, now - toldAt < configuration.progressInterval, !isLast(state) { return }
            state.toldAt = now
            onEvent(.progress(sent: state.sent, acknowledged: state.acknowledged, total: total))
        }
    }
}
