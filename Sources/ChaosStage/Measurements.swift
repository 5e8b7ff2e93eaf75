import FaultPlan
import Units

/// The figures of a run, which expectations are about.
package struct Measurements: Sendable {
    /// The figures of one proxy.
    package struct Proxy: Sendable {
        package var name: String
        /// Bytes passed from clients to the server.
        package var upstream: Int64 = 0
        /// Bytes passed from the server to clients.
        package var downstream: Int64 = 0
        /// Connections that were accepted.
        package var connections: Int64 = 0
        /// Events of faults by kind, as in the journal.
        package var faults: [String: Int64] = [:]
        /// HTTP messages whose content begins inside its resource: resumed downloads and uploads.
        package var resumptions: Int64 = 0
        /// Why streams weren't read as HTTP although a fault asked for its messages, each reason once.
        package var unreadStreams: [UnreadReason] = []
        /// Why no connection reached the upstream, with its address; `nil` if one did, or none came.
        package var upstreamFailure: String?
        /// Why TLS with a client failed without a fault, as a clause; `nil` if it didn't.
        package var clientFailure: String?

        /// A proxy that has seen nothing.
        package init(name: String) {
            self.name = name
        }

        /// Bytes in both directions.
        package var bytes: Int64 { upstream + downstream }
        /// Events of faults of any kind.
        package var faultCount: Int64 { faults.values.reduce(0, +) }
    }

    /// The exit code; 128 and the signal's number after a signal.
    package var exit: Int64
    /// How long the command ran.
    package var time: Duration
    /// The proxies, at least one.
    package var proxies: [Proxy]
    /// The bytes in both directions of a run without faults, in the order of `proxies`; `nil` if there was none.
    package var reference: [Int64]?

    /// Makes the figures of their parts.
    package init(exit: Int64, time: Duration, proxies: [Proxy], reference: [Int64]? = nil) {
        self.exit = exit
        self.time = time
        self.proxies = proxies
        self.reference = reference
    }

    /// Bytes from clients to servers, of all proxies.
    package var upstream: Int64 { proxies.reduce(0) { $0 + $1.upstream } }
    /// Bytes from servers to clients, of all proxies.
    package var downstream: Int64 { proxies.reduce(0) { $0 + $1.downstream } }
    /// Bytes in both directions, of all proxies.
    package var bytes: Int64 { upstream + downstream }
    package var connections: Int64 { proxies.reduce(0) { $0 + $1.connections } }
    /// Events of faults of all proxies.
    package var faults: Int64 { proxies.reduce(0) { $0 + $1.faultCount } }
    package var resumptions: Int64 { proxies.reduce(0) { $0 + $1.resumptions } }
    /// The bytes beyond those of the run without faults, as a share of those, zero or more: 0.05 is 5 %; `nil` without
    /// a reference, or if no byte passed in it.
    package var waste: Double? {
        guard let all = reference?.reduce(0, +), all > 0 else { return nil }
        return max(0, Double(bytes - all) / Double(all))
    }
}
