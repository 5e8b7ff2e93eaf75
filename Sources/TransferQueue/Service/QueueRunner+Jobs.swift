internal import DurableFiles
internal import SystemPackage

extension QueueRunner {
    /// The status of all jobs, in their order.
    func statuses() async throws(TransferQueueError) -> [QueueJobStatus] {
        try await perform { (work) throws(TransferQueueError) in
            work.state.jobs.values.sorted { $0.id < $1.id }.map { job in
                QueueJobStatus(job, work.positions[job.id], work.progress[job.id])
            }
        }
    }

    /// Returns when a run that is being stopped has ended.
    func ended(_ id: QueueJobID) async {
        let task = try? await perform { (work) throws(TransferQueueError) in work.runs[id]?.task }
        await task?.value
    }

    /// Whether nothing is to do but what only the owner can.
    var isIdle: Bool {
        get async {
            let isIdle = try? await perform { (work) throws(TransferQueueError) in
                let isWaiting = work.state.jobs.values.contains { job in
                    if case .needing = job.stage { return false }
                    return job.isActive || job.commandOwed != nil
                }
                return !isWaiting && work.runs.isEmpty && work.commands.isEmpty
                    && work.secrets.values.allSatisfy(\.isEmpty)
            }
            return isIdle ?? true
        }
    }

    /// Removes what a cancelled job has left, if it has run.
    ///
    /// - Parameter secrets: The values of headers that were in memory, by their names in lower case.
    func discard(_ job: QueueJob, secrets: [String: String] = [:]) async {
        guard job.hasStarted else { return }
        await transfers.discard(job.transfer, secrets: secrets)
        try? await perform { [self] (work) throws(TransferQueueError) in
            if let job = work.state.discarded(job.id) { try write(job, &work) }
        }
    }

    /// Forgets what is done; returns how many jobs that were.
    ///
    /// - Parameter undelivered: Whether jobs count whose events weren't delivered.
    func prune(undelivered: Bool) async throws(TransferQueueError) -> Int {
        let done = try await perform { (work) throws(TransferQueueError) in work.state.done(undelivered: undelivered) }
        // A failed download keeps its partial file, beside its destination. The journal of an upload has a secret URL.
        for job in done where job.transfer.direction == .upload && job.result == nil && job.hasStarted {
            await transfers.discard(job.transfer)
        }
        return try await perform { (work) throws(TransferQueueError) in
            var next = work.state
            let done = next.done(undelivered: undelivered).map(\.id)
            guard !done.isEmpty else { return 0 }
            for id in done { next.remove(id) }
            do throws(FileError) {
                try work.log?.rewrite(next)
            } catch {
                throw TransferQueueError(.fileSystem, "the queue's log can't be written: \(error)", error)
            }
            work.state = next
            for id in done { (work.positions[id], work.progress[id], work.secrets[id]) = (nil, nil, nil) }
            return done.count
        }
    }
}
