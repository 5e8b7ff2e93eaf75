internal import DurableFiles
internal import SystemPackage

/// What a daemon needs of its queue.
extension TransferQueue {
    /// Makes the folder of a queue, with permissions for its owner only.
    package static func makeFolder(_ folder: String) throws(TransferQueueError) {
        do throws(FileError) {
            try SystemFiles().makeFolders(FilePath(folder))
        } catch {
            throw TransferQueueError(.fileSystem, error.description)
        }
    }

    /// The jobs in the log of a folder, whose queue may be open elsewhere; none without a log.
    package static func statuses(inLogOf folder: String) throws(TransferQueueError) -> [QueueJobStatus] {
        do throws(QueueLog.Problem) {
            let state = try QueueLog.peek(in: FilePath(folder), files: SystemFiles())
            return state.jobs.values.sorted { $0.id < $1.id }.map { QueueJobStatus($0, nil, nil) }
        } catch {
            throw TransferQueueError(error, folder: folder)
        }
    }

    /// Whether nothing is to do but what only the owner can: no job runs, is ready or waits for a time or a condition, no
    /// command runs, and no secret would be lost with the process.
    package var isIdle: Bool {
        get async {
            guard case .process(let runner) = host else { return false }
            return await runner.isIdle
        }
    }

    /// Hands a job, or all, to `tell`: each as it is, then `upToDate`, then each that changes or is forgotten. Returns when the
    /// queue is closed or the task is cancelled.
    package func follow(_ id: QueueJobID?, tell: (QueueAnswer) async throws -> Void) async throws {
        guard case .process(let runner) = host else { return }
        let reader = LocalReader(runner)
        while let change = await reader.nextChange() {
            if id == nil || change.job == nil || change.job == id { try await tell(change) }
        }
    }

    /// Forgets the jobs that are done.
    ///
    /// - Parameter undelivered: Whether those count whose events weren't delivered: the owner has seen them.
    package func prune(undelivered: Bool) async throws -> Int {
        switch host {
        case .daemon(let daemon): return try await daemon.prune(undelivered: undelivered)
        case .process(let runner):
            return try await runner.prune(undelivered: undelivered)
        }
    }
}
