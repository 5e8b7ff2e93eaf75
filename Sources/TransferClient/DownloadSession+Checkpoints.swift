import TransferProtocol
import Units

extension DownloadSession {
    /// Starts a concurrent checkpoint when one is due; at most one runs at a time.
    func checkpointIfDue() async throws(TransferError) {
        let now = configuration.clock.now()
        let isDue =
            file.uncommitted >= configuration.checkpointBytes.bytes
            || now - lastCheckpoint >= configuration.checkpointInterval
        guard isDue else { return }
        try await awaitCheckpoint()
        startCheckpoint(at: now)
    }

    /// Starts a checkpoint concurrent with the next attempt if it is worthwhile. Waits for it when there are many bytes
    /// or the backoff is long.
    func checkpointBeforeAttempt(in delay: Duration) async throws(TransferError) {
        guard file.uncommitted < Self.maximumUncommitted, delay < Self.minimumCommittedBackoff else {
            return try await checkpoint()
        }
        guard file.uncommitted >= Self.minimumCommit, runningCheckpoint?.repeats() != true else { return }
        try await awaitCheckpoint()
        startCheckpoint(at: configuration.clock.now())
    }

    /// An attempt doesn't start with more than this many bytes, 1 MiB, uncommitted.
    private static let maximumUncommitted: Int64 = 1 << 20
    /// Fewer new bytes than this, 64 KiB, don't justify a checkpoint before an attempt.
    private static let minimumCommit: Int64 = 64 << 10
    /// Before a backoff of at least 100 ms everything is committed.
    private static let minimumCommittedBackoff = Duration.milliseconds(100)

    private func startCheckpoint(at now: Moment) {
        lastCheckpoint = now
        runningCheckpoint = RunningCheckpoint(of: file, on: environment.executor)
    }

    /// Rethrows the error of a finished checkpoint.
    func awaitCheckpointIfDone() async throws(TransferError) {
        if runningCheckpoint?.isDone == true { try await awaitCheckpoint() }
    }

    /// Waits for the running checkpoint, if any; rethrows its error.
    func awaitCheckpoint() async throws(TransferError) {
        guard let running = runningCheckpoint else { return }
        runningCheckpoint = nil
        try await running.finish().get()
    }

    /// Commits everything received, now.
    func checkpoint() async throws(TransferError) {
        try await awaitCheckpoint()
        lastCheckpoint = configuration.clock.now()
        try await file.checkpoint()
    }

    /// Waits until the bytes of an earlier run have been verified against the journal.
    ///
    /// - Returns: whether all of them are intact; otherwise the next step fetches the damaged ones.
    func isPrefixIntact() async throws(TransferError) -> Bool {
        guard let running = verification else { return true }
        verification = nil
        let result = await withTaskCancellationHandler {
            await running.value
        } onCancel: {
            running.cancel()
        }
        return try await act(on: result.get())
    }

    /// Continues the verification after damaged bytes were replaced.
    func verifyRepair() async throws(TransferError) -> Bool { try await act(on: file.verify()) }

    private func act(on damage: Range<Int64>?) async throws(TransferError) -> Bool {
        guard let damage else { return true }
        let kept = state.foundDamage(damage)
        if kept < file.length { try await file.truncate(to: kept) }
        return false
    }

    /// Starts verifying the bytes of an earlier run, concurrent with the first request.
    func startVerification() {
        verification = Task.detached(executorPreference: environment.executor) { [file] in
            await Result { () async throws(TransferError) in try await file.verify() }
        }
    }

    /// Stops verifying bytes that are about to be discarded.
    func stopVerification() async {
        verification?.cancel()
        _ = await verification?.value
        verification = nil
    }

    /// Journals metadata that a response added.
    func journalMetadata() async throws(TransferError) {
        guard let recorded, let representation = state.representation else { return }
        let source = JournalSource(url: url.text, finalURL: finalURL.text, representation: representation)
        guard source != recorded else { return }
        try await awaitCheckpoint()
        try await file.updateSource(source)
        self.recorded = source
    }

    /// Sends a `progress` event, unless one was just sent.
    func reportProgress(isLast: Bool = false) {
        let now = configuration.clock.now()
        // The first bytes are reported at once: if the server sends no more, nothing else reports them until the transfer stalls.
        if let lastProgress, !isLast, now - lastProgress < configuration.progressInterval { return }
        lastProgress = now
        loop.onEvent(.progress(completed: state.length, total: state.representation?.total))
    }
}
