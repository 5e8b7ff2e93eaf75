import Synchronization

/// Calls back once it has been signalled a number of times, from any threads.
final class Countdown: Sendable {
    private let left: Atomic<Int>
    private let done: @Sendable () -> Void

    /// Waits for `count` signals, 1 or more.
    init(_ count: Int, done: @escaping @Sendable () -> Void) {
        left = Atomic(count)
        self.done = done
    }

    func signal() {
        if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done() }
    }
}
