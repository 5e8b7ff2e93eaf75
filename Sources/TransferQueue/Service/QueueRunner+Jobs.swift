internal import DurableFiles
internal import OperatingSystem
internal import SystemPackage
internal import Units

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

    /// The servers that are asked at a time to remove parts of uploads: 8.
    private static let maximumDiscards = 8

    /// Removes what the runs of a job have left, unless an unfinished job goes on with it.
    ///
    /// - Parameters:
    ///   - secrets: The values of headers that were in memory, by their names in lower case.
    ///   - limit: The time for a request to the server of an upload.
    func discard(
        _ job: QueueJob,
        secrets: [String: String] = [:],
        within limit: Duration = QueueTransfers.discardLimit
    ) async {
        guard job.hasStarted, (try? await hasHeir(job.transfer)) == false else { return }
        await transfers.discard(job.transfer, secrets: secrets, within: limit)
        try? await perform { [self] (work) throws(TransferQueueError) in
            if let job = work.state.discarded(job.id) { try write(job, &work) }
        }
    }

    /// Whether an unfinished job goes on with what the runs of a transfer have left. An upload that hasn't started
    /// takes that over, as if it had.
    private func hasHeir(_ transfer: QueuedTransfer) async throws(TransferQueueError) -> Bool {
        let heirs = try await perform { (work) throws(TransferQueueError) in work.state.heirs(of: transfer) }
        guard transfer.direction == .upload else { return !heirs.isEmpty }
        guard !heirs.isEmpty, let name = await transfers.journalName(of: transfer) else { return false }
        for heir in heirs {
            guard await transfers.journalName(of: heir.transfer) == name else { continue }
            let isUnfinished = try await perform { [self] (work) throws(TransferQueueError) in
                guard let job = work.state.takingOver(heir.id) else { return false }
                if job != work.state.jobs[job.id] { try write(job, &work) }
                return true
            }
            if isUnfinished { return true }
        }
        return false
    }

    /// Forgets what is done; returns how many jobs that were.
    ///
    /// - Parameters:
    ///   - undelivered: Whether jobs count whose events weren't delivered.
    ///   - limit: The time to ask servers to remove the parts of failed uploads.
    func prune(
        undelivered: Bool,
        within limit: Duration = QueueTransfers.discardLimit
    ) async throws(TransferQueueError) -> Int {
        let done = try await perform { (work) throws(TransferQueueError) in work.state.done(undelivered: undelivered) }
        // A failed download keeps its partial file, beside its destination. The journal of an upload has a secret URL.
        let left = done.filter { $0.transfer.direction == .upload && $0.result == nil }
        let end = MonotonicClock.now + limit
        await withTaskGroup(of: Void.self) { tasks in
            for (index, job) in left.enumerated() {
                if index >= Self.maximumDiscards { await tasks.next() }
                tasks.addTask { [self] in await discard(job, within: max(.zero, end - MonotonicClock.now)) }
            }
        }
        return try await perform { [self] (work) throws(TransferQueueError) in
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
            for id in done {
                (work.positions[id], work.progress[id], work.secrets[id]) = (nil, nil, nil)
                note(id, work)
            }
            return done.count
        }
    }
}
