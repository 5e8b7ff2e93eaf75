import HTTPSemantics
import TransferProtocol

/// The digests of files, by their entity tags: each is computed once, however many ask for it at the same time, and
/// nobody has to wait for it to the end.
actor DigestStore {
    /// Computes a digest; `nil` when it can't.
    typealias Computation = @Sendable () async -> ReprDigest?

    /// A digest that is wanted and not known.
    private struct Wanted {
        let compute: Computation
        /// Set while it is being computed; before, it waits for its turn.
        var task: Task<Void, Never>?
        var askers: [Int: CheckedContinuation<ReprDigest?, Never>] = [:]
    }

    private let capacity: Int
    private let concurrency: Int
    private var known: [EntityTag: ReprDigest] = [:]
    private var oldestFirst: [EntityTag] = []
    private var wanted: [EntityTag: Wanted] = [:]
    /// Those that wait for their turn.
    private var queue: [EntityTag] = []
    private var running = 0
    private var lastAsker = 0
    private var isShutDown = false

    /// Makes a store that remembers `capacity` digests and computes `concurrency` of them at the same time.
    init(capacity: Int, concurrency: Int) {
        self.capacity = capacity
        self.concurrency = max(1, concurrency)
    }

    /// The digest for a tag: remembered, or being computed, or computed now. `nil` when it can't be computed, which
    /// isn't remembered, or isn't known by the time that `patience` returns; `patience` is cancelled when it is known, and when the
    /// caller is.
    ///
    /// A computation that has begun goes on for those who ask later, unless others wait for their turn. One that waits for
    /// its turn is given up with the last who asked for it.
    func digest(
        for tag: EntityTag,
        patience: @escaping @Sendable () async -> Void,
        compute: @escaping Computation
    ) async -> ReprDigest? {
        if let digest = known[tag] { return digest }
        guard !isShutDown else { return nil }
        if wanted[tag] == nil {
            wanted[tag] = Wanted(compute: compute)
            queue.append(tag)
            giveTurns()
            makeRoom()
        }
        lastAsker += 1
        let asker = lastAsker
        let clock = Task {
            await patience()
            self.patienceEnded(of: asker, for: tag)
        }
        defer { clock.cancel() }
        // A request whose client has gone waits no longer.
        return await withTaskCancellationHandler {
            await withCheckedContinuation { wanted[tag]?.askers[asker] = $0 }
        } onCancel: {
            clock.cancel()
        }
    }

    /// Cancels what is being computed, and returns when it has ended; nothing is computed afterwards.
    func shutDown() async {
        isShutDown = true
        queue = []
        let tasks = wanted.values.compactMap(\.task)
        for task in tasks { task.cancel() }
        for tag in wanted.keys where wanted[tag]?.task == nil { end(tag, nil) }
        for task in tasks { await task.value }
    }

    private func giveTurns() {
        while running < concurrency, !queue.isEmpty {
            let tag = queue.removeFirst()
            guard let compute = wanted[tag]?.compute else { continue }
            running += 1
            // Answers that are being sent come first.
            wanted[tag]?.task = Task(priority: .utility) { self.computed(await compute(), for: tag) }
        }
    }

    /// Ends a computation that nobody waits for any more, if others wait for their turn.
    private func makeRoom() {
        guard !queue.isEmpty, running >= concurrency else { return }
        wanted.values.first { $0.task?.isCancelled == false && $0.askers.isEmpty }?.task?.cancel()
    }

    private func computed(_ digest: ReprDigest?, for tag: EntityTag) {
        running -= 1
        if let digest { remember(digest, for: tag) }
        end(tag, digest)
        giveTurns()
    }

    /// Remembers a digest that is known already, unless the store is to remember none.
    func remember(_ digest: ReprDigest, for tag: EntityTag) {
        guard capacity > 0, known[tag] == nil else { return }
        if oldestFirst.count >= capacity { known[oldestFirst.removeFirst()] = nil }
        known[tag] = digest
        oldestFirst.append(tag)
    }

    /// Tells all who asked.
    private func end(_ tag: EntityTag, _ digest: ReprDigest?) {
        guard let askers = wanted.removeValue(forKey: tag)?.askers.values else { return }
        for asker in askers { asker.resume(returning: digest) }
    }

    private func patienceEnded(of asker: Int, for tag: EntityTag) {
        guard let continuation = wanted[tag]?.askers.removeValue(forKey: asker) else { return }
        continuation.resume(returning: nil)
        guard let rest = wanted[tag], rest.askers.isEmpty else { return }
        guard rest.task == nil else { return makeRoom() }
        wanted[tag] = nil
        queue.removeAll { $0 == tag }
    }
}
