import OperatingSystem
import Synchronization
import TransferClient
import Units

/// The progress of a transfer, updated and read by different tasks.
final class TransferProgress: Sendable {
    private let tracker = Mutex(ProgressTracker())

    /// Records an event.
    func note(_ event: TransferEvent) { tracker.withLock { $0.note(event, at: MonotonicClock.now) } }

    /// The current state.
    var snapshot: ProgressSnapshot { tracker.withLock { $0.snapshot(at: MonotonicClock.now) } }

    /// "12.3 MiB of 64.0 MiB (19 %)   38.2 Mbit/s   resumed 1 time".
    var text: String {
        let progress = snapshot
        var text = Formatting.size(progress.bytes)
        if let total = progress.total, total > 0 {
            text += " of \(Formatting.size(total)) (\(progress.bytes * 100 / total) %)"
        }
        if let rate = progress.rate { text += "   \(Formatting.rate(bitsPerSecond: rate * 8))" }
        if progress.resumptions > 0 {
            text += "   resumed \(progress.resumptions) time\(progress.resumptions == 1 ? "" : "s")"
        }
        return text
    }
}
