import TransferProtocol

/// The digests of files, by their entity tags: each is computed once, however many ask for it at the same time.
actor DigestStore {
    private let capacity: Int
    private let concurrency: Int
    private var known: [EntityTag: ReprDigest] = [:]
    private var oldestFirst: [EntityTag] = []
    private var underWay: [EntityTag: Task<ReprDigest?, Never>] = [:]
    private var running = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isShutDown = false

    /// Makes a store that remembers `capacity` digests and computes `concurrency` of them at the same time.
    init(capacity: Int, concurrency: Int) {
        self.capacity = capacity
        self.concurrency = max(1, concurrency)
    }

    /// The digest for a tag: remembered, or being computed, or computed now. A computation that gives `nil` isn't
    /// remembered. Returns only when `compute`, if it was called, has ended.
    func digest(for tag: EntityTag, compute: @escaping @Sendable () async -> ReprDigest?) async -> ReprDigest? {
        if let digest = known[tag] { return digest }
        if let task = underWay[tag] { return await task.value }
        guard !isShutDown else { return nil }
        let task = Task {
            await self.takeTurn()
            let digest = Task.isCancelled ? nil : await compute()
            self.computed(digest, for: tag)
            return digest
        }
        underWay[tag] = task
        return await task.value
    }

    /// Cancels what is being computed; nothing is computed afterwards.
    func shutDown() {
        isShutDown = true
        for task in underWay.values { task.cancel() }
    }

    private func takeTurn() async {
        if running < concurrency {
            running += 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func computed(_ digest: ReprDigest?, for tag: EntityTag) {
        underWay[tag] = nil
        if waiting.isEmpty {
            running -= 1
        } else {
            // The turn is handed on, so `running` stays.
            waiting.removeFirst().resume()
        }
        guard let digest, capacity > 0 else { return }
        if oldestFirst.count >= capacity { known[oldestFirst.removeFirst()] = nil }
        known[tag] = digest
        oldestFirst.append(tag)
    }
}
