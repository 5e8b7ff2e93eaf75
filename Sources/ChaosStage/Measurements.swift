import FaultPlan
import Units

/// The figures of a run, which expectations are about.
public struct Measurements: Sendable {
    /// The figures of one proxy.
    public struct Proxy: Sendable {
        /// The proxy's name.
        public var name: String
        /// Bytes passed from clients to the server.
        public var upstream: Int64 = 0
        /// Bytes passed from the server to clients.
        public var downstream: Int64 = 0
        /// Connections that were accepted.
        public var connections: Int64 = 0
        /// Events of faults by kind, as in the journal.
        public var faults: [String: Int64] = [:]
        /// HTTP messages whose content begins inside its resource: resumed downloads and uploads.
        public var resumptions: Int64 = 0
        /// Why streams weren't read as HTTP although a fault asked for its messages, each reason once.
        public var unreadStreams: [UnreadReason] = []
        /// Why no connection reached the upstream, with its address; `nil` if one did, or none came.
        public var upstreamFailure: String?

        /// A proxy that has seen nothing.
        public init(name: String) {
            self.name = name
        }

        /// Bytes in both directions.
        public var bytes: Int64 { upstream + downstream }
        /// Events of faults of any kind.
        public var faultCount: Int64 { faults.values.reduce(0, +) }
    }

    /// The exit code; 128 and the signal's number after a signal.
    public var exit: Int64
    /// How long the command ran.
    public var time: Duration
    /// The proxies, at least one.
    public var proxies: [Proxy]
    /// How long the command ran, and the bytes that passed in both directions, in a run without faults; `nil` if there
    /// was none.
    public var reference: Reference?

    /// The figures of the run without faults.
    public struct Reference: Sendable {
        /// How long the command ran.
        public var time: Duration
        /// Bytes in both directions, by proxy, in the order of `proxies`.
        public var bytes: [Int64]

        /// Makes a reference of its parts.
        public init(time: Duration, bytes: [Int64]) {
            self.time = time
            self.bytes = bytes
        }
    }

    /// Makes the figures of their parts.
    public init(exit: Int64, time: Duration, proxies: [Proxy], reference: Reference? = nil) {
        self.exit = exit
        self.time = time
        self.proxies = proxies
        self.reference = reference
    }

    /// Bytes from clients to servers, of all proxies.
    public var upstream: Int64 { proxies.reduce(0) { $0 + $1.upstream } }
    /// Bytes from servers to clients, of all proxies.
    public var downstream: Int64 { proxies.reduce(0) { $0 + $1.downstream } }
    /// Bytes in both directions, of all proxies.
    public var bytes: Int64 { upstream + downstream }
    /// Connections of all proxies.
    public var connections: Int64 { proxies.reduce(0) { $0 + $1.connections } }
    /// Events of faults of all proxies.
    public var faults: Int64 { proxies.reduce(0) { $0 + $1.faultCount } }
    /// Resumptions of all proxies.
    public var resumptions: Int64 { proxies.reduce(0) { $0 + $1.resumptions } }
    /// The bytes beyond those of the run without faults, as a share of those, zero or more: 0.05 is 5 %; `nil` without
    /// a reference, or if no byte passed in it.
    public var waste: Double? {
        guard let all = reference?.bytes.reduce(0, +), all > 0 else { return nil }
        return max(0, Double(bytes - all) / Double(all))
    }
}
