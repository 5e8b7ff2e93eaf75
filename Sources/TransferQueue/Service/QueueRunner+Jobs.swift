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

    /// Marks the events of ended jobs as delivered.
    func deliverAll() async throws(TransferQueueError) {
        try await perform { [self] (work) throws(TransferQueueError) in
            for job in work.state.jobs.values where job.phase.isFinal {
                if let event = job.event, let job = work.state.delivered(event) { try write(job, &work) }
            }
        }
    }

    /// Forgets what is done; returns how many jobs that were.
    func prune() async throws(TransferQueueError) -> Int {
        try await perform { (work) throws(TransferQueueError) in
            let done = work.state.done
            for id in done {
                var next = work.state
                next.remove(id)
                do throws(FileError) {
                    try work.log?.append(.removed(id), next)
                } catch {
                    throw TransferQueueError(.fileSystem, "the queue's log can't be written: \(error)")
                }
                work.state = next
                (work.positions[id], work.progress[id], work.secrets[id]) = (nil, nil, nil)
            }
            return done.count
        }
    }
}
