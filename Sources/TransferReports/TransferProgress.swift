import OperatingSystem
import Synchronization
import TerminalDisplay
import TransferClient

/// The progress of a transfer, updated and read by different tasks.
package final class TransferProgress: Sendable {
    private let tracker = Mutex(ProgressTracker())

    /// The progress before the first event.
    package init() {}

    /// Records an event.
    package func note(_ event: TransferEvent) { tracker.withLock { $0.note(event, at: MonotonicClock.now) } }

    /// The current state.
    package var snapshot: ProgressSnapshot { tracker.withLock { $0.snapshot(at: MonotonicClock.now) } }
}
