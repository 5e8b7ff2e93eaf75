import TransferProtocol
import Units

extension DownloadSession {
    /// Starts a checkpoint beside the transfer when one is due; at most one runs at a time.
    func checkpointIfDue() async throws(DownloadError) {
        let now = configuration.clock.now()
        let isDue =
            file.unpromised >= configuration.checkpointBytes.bytes
            || now - lastCheckpoint >= configuration.checkpointInterval
        guard isDue else { return }
        try await settle()
        startCheckpoint(at: now)
    }

    /// Starts a checkpoint beside the next attempt if there is enough to promise. Many bytes, and those before a long wait,
    /// are promised at once.
    func checkpointBeforeAttempt(in delay: Duration) async throws(DownloadError) {
        guard file.unpromised < Self.mostUnpromised, delay < Self.shortestCheckpointedWait else {
            return try await checkpoint()
        }
        guard file.unpromised >= Self.fewestPromised, runningCheckpoint?.repeats() != true else { return }
        try await settle()
        startCheckpoint(at: configuration.clock.now())
    }

    /// An attempt that ended starts only after this many bytes, 1 MiB, have been promised.
    private static let mostUnpromised: Int64 = 1 << 20
    /// Fewer new bytes than this, 64 KiB, aren't worth a checkpoint before the next attempt.
    private static let fewestPromised: Int64 = 64 << 10
    /// Before a wait of at least 100 ms all bytes are promised.
    private static let shortestCheckpointedWait = Duration.milliseconds(100)

    private func startCheckpoint(at now: Moment) {
        lastCheckpoint = now
        runningCheckpoint = RunningCheckpoint(of: file, on: surroundings.executor)
    }

    /// Throws what a checkpoint that has ended threw.
    func settleIfDone() async throws(DownloadError) {
        if runningCheckpoint?.isDone == true { try await settle() }
    }

    /// Waits for the checkpoint that runs, if one does; throws what it threw.
    func settle() async throws(DownloadError) {
        guard let running = runningCheckpoint else { return }
        runningCheckpoint = nil
        try await running.finish().get()
    }

    /// Promises everything that is held, now.
    func checkpoint() async throws(DownloadError) {
        try await settle()
        lastCheckpoint = configuration.clock.now()
        try await file.checkpoint()
    }

    /// Waits until what an earlier run left has been compared with the journal.
    ///
    /// - Returns: whether all of it is held as it came; else the next step fetches what isn't.
    func isPrefixSound() async throws(DownloadError) -> Bool {
        guard let running = verification else { return true }
        verification = nil
        return try await act(on: running.value.get())
    }

    /// Compares on, after damaged bytes were replaced.
    func verifyRepair() async throws(DownloadError) -> Bool { try await act(on: file.verify()) }

    private func act(on damage: Range<Int64>?) async throws(DownloadError) -> Bool {
        guard let damage else { return true }
        let kept = state.foundDamage(damage)
        if kept < file.length { try await file.cut(to: kept) }
        return false
    }

    /// Begins to compare what an earlier run left with the journal, beside the first request.
    func startVerification() {
        verification = Task.detached(executorPreference: surroundings.executor) { [file] in
            do throws(DownloadError) {
                return .success(try await file.verify())
            } catch {
                return .failure(error)
            }
        }
    }

    /// Stops comparing what is about to be thrown away.
    func stopVerification() async {
        verification?.cancel()
        _ = await verification?.value
        verification = nil
    }

    /// Notes in the journal what a response told in addition.
    func recordWhatIsKnown() async throws(DownloadError) {
        guard let recorded, let representation = state.representation else { return }
        let source = JournalSource(url: url.text, finalURL: finalURL.text, representation: representation)
        guard source != recorded else { return }
        try await settle()
        try await file.learn(source)
        self.recorded = source
    }

    /// Sends a `progress` event, unless one was sent just before.
    func reportProgress(isLast: Bool = false) {
        let now = configuration.clock.now()
        guard isLast || now - lastProgress >= configuration.progressInterval else { return }
        lastProgress = now
        onEvent(.progress(received: state.length, total: state.representation?.total))
    }
}
