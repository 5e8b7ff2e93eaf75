import Synchronization
import TransferProtocol

/// Limits the rate of one transfer's content, over all its connections.
final class TransferPacer: Sendable {
    /// The chunk size.
    let chunkLength: Int
    private let limiter: Mutex<RateLimiter>
    private let clock: TransferClock

    /// Makes a pacer for the rate of `configuration`; `nil` without one.
    init?(_ configuration: TransferClientConfiguration) {
        guard let rate = configuration.maximumRate else { return nil }
        let limiter = RateLimiter(rate: rate)
        chunkLength = limiter.chunkLength
        self.limiter = Mutex(limiter)
        clock = configuration.clock
    }

    /// Waits until the rate admits `bytes` more; throws `.cancelled` when the task is cancelled.
    func admit(_ bytes: Int) async throws(TransferError) {
        let delay = limiter.withLock { $0.admit(bytes, at: clock.now()) }
        guard delay > .zero else { return }
        do {
            try await clock.sleep(delay)
        } catch {
            throw .cancelled
        }
    }
}
