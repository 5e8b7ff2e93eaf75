import OperatingSystem
import Synchronization
import TerminalDisplay
import TransferClient
import Units

/// The progress of a transfer, updated and read by different tasks.
package final class TransferProgress: Sendable {
    private let tracker = Mutex(ProgressTracker())

    /// The progress before the first event.
    package init() {}

    /// Records a download event.
    package func note(_ event: DownloadEvent) { tracker.withLock { $0.note(event, at: MonotonicClock.now) } }

    /// Records an upload event.
    package func note(_ event: UploadEvent) { tracker.withLock { $0.note(event, at: MonotonicClock.now) } }

    /// The current state.
    package var snapshot: ProgressSnapshot { tracker.withLock { $0.snapshot(at: MonotonicClock.now) } }

    /// "12.3 MiB of 64.0 MiB (19 %)   38.2 Mbit/s   resumed 1 time".
    package var text: String {
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
