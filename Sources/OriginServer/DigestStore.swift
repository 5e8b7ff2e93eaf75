import HTTPSemantics
import TransferProtocol

/// Computes and caches digests of files by entity tag: each once for concurrent requests, and no caller has to wait for
/// the end.
actor DigestStore {
    /// Computes a digest; `nil` on failure.
    typealias Computation = @Sendable () async -> ReprDigest?

    /// A digest that isn't known yet.
    private struct PendingDigest {
        let compute: Computation
        /// The running computation; `nil` while queued.
        var task: Task<Void, Never>?
        var waiters: [Int: CheckedContinuation<ReprDigest?, Never>] = [:]
    }

    private let capacity: Int
    private let concurrency: Int
    private var known: [EntityTag: ReprDigest] = [:]
    private var oldestFirst: [EntityTag] = []
    private var pending: [EntityTag: PendingDigest] = [:]
    /// The tags queued for computation.
    private var queue: [EntityTag] = []
    private var running = 0
    private var lastWaiter = 0
    private var isShutDown = false

    /// Makes a store that caches `capacity` digests and computes `concurrency` concurrently.
    init(capacity: Int, concurrency: Int) {
        self.capacity = capacity
        self.concurrency = max(1, concurrency)
    }

    /// The digest for a tag: cached, or computed. `nil` when it can't be computed, which isn't cached, or isn't known
    /// when `timeout` returns. `timeout` is cancelled when it is known, or the caller is cancelled.
    ///
    /// A running computation continues for later callers, unless others are queued. A queued one is dropped with its
    /// last caller.
    func digest(
        for tag: EntityTag,
        timeout: @escaping @Sendable () async -> Void,
        compute: @escaping Computation
    ) async -> ReprDigest? {
        if let digest = known[tag] { return digest }
        guard !isShutDown else { return nil }
        if pending[tag] == nil {
            pending[tag] = PendingDigest(compute: compute)
            queue.append(tag)
            startQueued()
            cancelUnneeded()
        }
        lastWaiter += 1
        let waiter = lastWaiter
        let clock = Task {
            await timeout()
            self.timedOut(of: waiter, for: tag)
        }
        defer { clock.cancel() }
        // A cancelled caller doesn't wait any longer.
        return await withTaskCancellationHandler {
            await withCheckedContinuation { pending[tag]?.waiters[waiter] = $0 }
        } onCancel: {
            clock.cancel()
        }
    }

    /// Cancels all computations and waits for them to end; nothing is computed afterwards.
    func shutDown() async {
        isShutDown = true
        queue = []
        let tasks = pending.values.compactMap(\.task)
        for task in tasks { task.cancel() }
        for tag in pending.keys where pending[tag]?.task == nil { end(tag, nil) }
        for task in tasks { await task.value }
    }

    private func startQueued() {
        while running < concurrency, !queue.isEmpty {
            let tag = queue.removeFirst()
            guard let compute = pending[tag]?.compute else { continue }
            running += 1
            // Responses in progress have priority.
            pending[tag]?.task = Task(priority: .utility) { self.computed(await compute(), for: tag) }
        }
    }

    /// Cancels a computation without callers if others are queued.
    private func cancelUnneeded() {
        guard !queue.isEmpty, running >= concurrency else { return }
        pending.values.first { $0.task?.isCancelled == false && $0.waiters.isEmpty }?.task?.cancel()
    }

    private func computed(_ digest: ReprDigest?, for tag: EntityTag) {
        running -= 1
        if let digest { remember(digest, for: tag) }
        end(tag, digest)
        startQueued()
    }

    /// Caches a digest that is already known, if caching is enabled.
    func remember(_ digest: ReprDigest, for tag: EntityTag) {
        guard capacity > 0, known[tag] == nil else { return }
        if oldestFirst.count >= capacity { known[oldestFirst.removeFirst()] = nil }
        known[tag] = digest
        oldestFirst.append(tag)
    }

    /// Resumes all callers.
    private func end(_ tag: EntityTag, _ digest: ReprDigest?) {
        guard let waiters = pending.removeValue(forKey: tag)?.waiters.values else { return }
        for waiter in waiters { waiter.resume(returning: digest) }
    }

    private func timedOut(of waiter: Int, for tag: EntityTag) {
        guard let continuation = pending[tag]?.waiters.removeValue(forKey: waiter) else { return }
        continuation.resume(returning: nil)
        guard let rest = pending[tag], rest.waiters.isEmpty else { return }
        guard rest.task == nil else { return cancelUnneeded() }
        pending[tag] = nil
        queue.removeAll { $0 == tag }
    }
}
