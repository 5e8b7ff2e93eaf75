import FaultPlan
import Synchronization

/// The rates that connections of one client share, behind a lock. Used when a connection is accepted or its plan changes.
final class ClientRates: ClientRateStore {
    private let buckets = Mutex(ClientBuckets())

    func withRates<Result: Sendable>(_ body: (inout ClientBuckets) -> Result) -> Result {
        buckets.withLock { body(&$0) }
    }
}
