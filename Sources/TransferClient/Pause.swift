import NIOCore
import NIOPosix

/// Waits for a time on a timer of NIO. `Task.sleep` uses libdispatch, which then wakes up once a second for good.
package enum Pause {
    /// Returns after `duration`; throws `CancellationError` when the task is cancelled.
    package static func sleep(for duration: Duration) async throws {
        let timer = MultiThreadedEventLoopGroup.singleton.any().scheduleTask(in: TimeAmount(duration)) {}
        try await withTaskCancellationHandler {
            do {
                try await timer.futureResult.get()
            } catch {
                throw CancellationError()
            }
        } onCancel: {
            timer.cancel()
        }
    }
}
