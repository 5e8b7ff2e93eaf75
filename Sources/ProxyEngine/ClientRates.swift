import FaultPlan
import Synchronization

/// The rates of a proxy's clients: asked for where a connection is accepted, or goes on with another plan.
final class ClientRates: ClientRateStore {
    private let buckets = Mutex(ClientBuckets())

    func withRates<Result: Sendable>(_ body: (inout ClientBuckets) -> Result) -> Result {
        buckets.withLock { body(&$0) }
    }
}
