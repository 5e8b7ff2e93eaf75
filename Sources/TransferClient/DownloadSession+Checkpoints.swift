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
        lastCheckpoint = now
        let file = file
        runningCheckpoint = Task.detached {
            do throws(DownloadError) {
                try await file.checkpoint()
                return .success(())
            } catch {
                return .failure(error)
            }
        }
    }

    /// Waits for the checkpoint that runs, if one does; throws what it threw.
    func settle() async throws(DownloadError) {
        guard let running = runningCheckpoint else { return }
        runningCheckpoint = nil
        try await running.value.get()
    }

    /// Promises everything that is held, now.
    func checkpoint() async throws(DownloadError) {
        try await settle()
        lastCheckpoint = configuration.clock.now()
        try await file.checkpoint()
    }

    /// Notes in the journal what a response told in addition.
    func recordWhatIsKnown() async throws(DownloadError) {
        guard let recorded, let representation = state.representation,
            recorded.representation != representation
        else { return }
        try await settle()
        let source = JournalSource(url: url.text, finalURL: finalURL.text, representation: representation)
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
