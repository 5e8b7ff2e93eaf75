import Synchronization

/// Bounds the bytes that the contents of all requests, or of all responses, together take in memory.
final class ContentBudget: Sendable {
    private let limit: Int
    private let used = Mutex(0)

    /// A budget of `limit` bytes.
    init(limit: Int) { self.limit = limit }

    /// The bytes of one message; they are free again when it is released.
    final class Share: Sendable {
        private let budget: ContentBudget
        private let used = Mutex(0)

        /// A share without bytes.
        init(of budget: ContentBudget) { self.budget = budget }

        /// Takes `count` bytes more; `false` if the budget has fewer left, and none are taken then.
        func take(_ count: Int) -> Bool {
            guard budget.take(count) else { return false }
            used.withLock { $0 += count }
            return true
        }

        deinit { budget.used.withLock { $0 -= used.withLock { $0 } } }
    }

    private func take(_ count: Int) -> Bool {
        used.withLock { used in
            guard count <= limit - used else { return false }
            used += count
            return true
        }
    }
}
