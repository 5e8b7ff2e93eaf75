import Synchronization
import TransferProtocol

/// Holds the content of one transfer to a rate, over all of its connections.
final class TransferPacer: Sendable {
    /// The bytes that move at a time.
    let pieceLength: Int
    private let limiter: Mutex<RateLimiter>
    private let clock: TransferClock

    /// A pacer for the rate of `configuration`; `nil` where there is none.
    init?(_ configuration: TransferClientConfiguration) {
        guard let rate = configuration.maximumRate else { return nil }
        let limiter = RateLimiter(rate: rate)
        pieceLength = limiter.pieceLength
        self.limiter = Mutex(limiter)
        clock = configuration.clock
    }

    /// Waits until the rate allows `bytes` more; throws `.cancelled` when the task is cancelled meanwhile.
    func admit(_ bytes: Int) async throws(DownloadError) {
        let delay = limiter.withLock { $0.admit(bytes, at: clock.now()) }
        guard delay > .zero else { return }
        do {
            try await clock.sleep(delay)
        } catch {
            throw .cancelled
        }
    }
}
