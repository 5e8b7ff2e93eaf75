import Synchronization
import Units

/// The progress of one upload request: bytes written to the connection, and bytes acknowledged by the server. Its
/// events are ordered and throttled.
final class UploadProgress: Sendable {
    private struct State {
        var sent: Int64
        var acknowledged: Int64
        var reportedAt: Moment?
    }

    private let total: Int64
    private let configuration: TransferClientConfiguration
    private let onEvent: @Sendable (TransferEvent) -> Void
    private let state: Mutex<State>

    /// Starts with the values before the request.
    init(
        sent: Int64,
        acknowledged: Int64,
        total: Int64,
        _ configuration: TransferClientConfiguration,
        _ onEvent: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.total = total
        self.configuration = configuration
        self.onEvent = onEvent
        state = Mutex(State(sent: sent, acknowledged: acknowledged))
    }

    /// The bytes up to `offset` were written to the connection.
    func sent(_ offset: Int64) { change(offset, \.sent) }

    /// The server has acknowledged the bytes up to `offset`.
    func acknowledged(_ offset: Int64) { change(offset, \.acknowledged) }

    /// Updates the state and reports it, unless another event was just sent. The last of each kind is always sent.
    private func change(_ offset: Int64, _ kind: WritableKeyPath<State, Int64>) {
        let now = configuration.clock.now()
        // Under the lock, so that events of two tasks stay in order.
        state.withLock { state in
            state[keyPath: kind] = offset
            if let reportedAt = state.reportedAt, now - reportedAt < configuration.progressInterval, offset < total {
                return
            }
            state.reportedAt = now
            onEvent(.progress(completed: state.acknowledged, sent: state.sent, total: total))
        }
    }
}
