import Synchronization

/// Tells a watcher once that a counter of a proxy has changed, but for those of bytes.
///
/// A loop that changes a counter calls `noteChange` afterwards. A watcher that arms the watch and then asks the loops for
/// the counters misses no change: it is in the counters, or it is told.
final class CounterWatch: Sendable {
    private let isArmed = Atomic<Bool>(false)
    private let watcher = Mutex<(@Sendable () -> Void)?>(nil)

    /// Calls `tell` at the next change, on the loop of the change, which it must not block; in the place of the one before.
    func arm(_ tell: @escaping @Sendable () -> Void) {
        watcher.withLock { $0 = tell }
        isArmed.store(true, ordering: .releasing)
    }

    /// Notes that a counter has changed. Without a watcher this is one relaxed load.
    func noteChange() {
        guard isArmed.load(ordering: .relaxed), isArmed.exchange(false, ordering: .acquiringAndReleasing) else {
            return
        }
        let tell = watcher.withLock { $0.take() }
        tell?()
    }
}
