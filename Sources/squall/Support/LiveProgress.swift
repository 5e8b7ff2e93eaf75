import TransferClient

/// A transfer on a terminal: a line of progress that is drawn ten times a second, and lines above it that stay.
final class LiveProgress: Sendable {
    private let live = LiveLine()
    private let progress = TransferProgress()
    private let bar = ProgressBar(.ofProcess)

    /// The time between two redraws.
    private static let interval = Duration.milliseconds(100)

    /// Takes note of an event of a download, and tells of it.
    func note(_ event: DownloadEvent) {
        progress.note(event)
        if let sentence = event.sentence { live.tell(sentence) }
    }

    /// Takes note of an event of an upload, and tells of it.
    func note(_ event: UploadEvent) {
        progress.note(event)
        if let sentence = event.sentence { live.tell(sentence) }
    }

    /// Draws until `transfer` has ended, and takes the line away; returns what it returned.
    func follow<Value: Sendable>(_ transfer: Task<Value, Never>) async -> Value {
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
