import TerminalDisplay
import TransferClient

/// A transfer on a terminal: a progress line redrawn ten times a second, with permanent lines above.
package final class LiveProgress: Sendable {
    private let live = LiveLine()
    private let progress = TransferProgress()
    private let bar = ProgressBar(.ofProcess)

    /// The redraw interval.
    private static let interval = Duration.milliseconds(100)

    /// A display that shows nothing yet.
    package init() {}

    /// Records and reports an event.
    package func note(_ event: TransferEvent) {
        progress.note(event)
        if let sentence = event.sentence { live.print(wrapping: sentence) }
    }

    /// Draws until `transfer` has ended, removes the line, and returns its result.
    package func follow<Value: Sendable>(_ transfer: Task<Value, Never>) async -> Value {
        let ticker = Task { [live, progress, bar] in
            while live.isOn, !Task.isCancelled {
                live.draw(progress.snapshot, bar)
                try? await Task.sleep(for: Self.interval)
            }
        }
        let value = await transfer.value
        ticker.cancel()
        await ticker.value
        live.clear()
        return value
    }
}
