import OperatingSystem
import Units

extension ManagedProxy {
    /// Removes each of `faults` when its time is over. One task for a proxy, whatever the number of faults.
    func scheduleExpiry(of faults: [ExtraFault]) {
        let next = faults.compactMap(\.until).min()
        expiry.withLock { task in
            task?.cancel()
            task = next.map { next in
                Task { [weak self] in
                    let left = next - MonotonicClock.now
                    if left > .zero { try? await Task.sleep(for: left) }
                    if !Task.isCancelled { await self?.removeExpired() }
                }
            }
        }
    }

    /// Removes the faults whose time is over.
    private func removeExpired() async {
        // Only a proxy that has stopped meanwhile can fail, and it has no faults to remove.
        try? await changeFaults { state throws(ControlError) in
            let now = MonotonicClock.now
            state.removeExtras { $0.until.map { $0 <= now } ?? false }
        }
    }
}
