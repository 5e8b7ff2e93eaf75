/// The status of a transfer.
///
/// A snapshot: statuses may be skipped, and the latest is complete.
public struct TransferStatus: Hashable, Sendable {
    /// The phase of a transfer. Others may be added.
    public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let rawValue: String
        /// Makes a phase from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// Opening and hashing files, or reading the stream of an upload.
        public static let preparing = Phase(rawValue: "preparing")
        /// Sending requests and moving bytes.
        public static let transferring = Phase(rawValue: "transferring")
        /// Waiting after a failed attempt; the next follows after `nextAttempt`.
        public static let waiting = Phase(rawValue: "waiting")
        /// Waiting for the network: `TransferConfiguration.waitsForConnectivity`.
        public static let waitingForNetwork = Phase(rawValue: "waiting-for-network")
        /// Finished successfully. The last status.
        public static let finished = Phase(rawValue: "finished")
        /// Failed; the error is thrown. The last status.
        public static let failed = Phase(rawValue: "failed")
        /// Paused. The last status.
        public static let paused = Phase(rawValue: "paused")
        /// Cancelled. The last status.
        public static let cancelled = Phase(rawValue: "cancelled")
    }

    /// A resumption at an offset.
    public struct Resumption: Hashable, Sendable {
        /// The offset at which the transfer continued, in bytes.
        public var offset: Int64
        /// When a download got the server's response from there, or an upload began its request.
        public var instant: ContinuousClock.Instant

        /// Makes a resumption, for tests.
        public init(offset: Int64, instant: ContinuousClock.Instant) {
            (self.offset, self.instant) = (offset, instant)
        }
    }

    /// The current phase.
    public var phase = Phase.preparing
    /// The bytes received by a download, or acknowledged by the server in an upload. Decreases only when the transfer
    /// restarts, or when bytes of an earlier run turn out to be damaged.
    public var completedBytes: Int64 = 0
    /// The bytes of an upload written to connections, acknowledged or not; otherwise `completedBytes`.
    public var sentBytes: Int64 = 0
    /// The total size; `nil` until known.
    public var totalBytes: Int64?
    /// How often the transfer resumed at an offset.
    public var resumptions = 0
    /// When and where it resumed last; `nil` if it hasn't.
    public var lastResumption: Resumption?
    /// Whether the transfer would continue where it is if its connection were lost now, and if not, why.
    public var resumability = Resumability.unknown
    /// How often it restarted.
    public var restarts = 0
    /// The delay before the next attempt, in the phase `waiting`.
    public var nextAttempt: Duration?
    /// Why the last attempt failed, or why the transfer restarted, as a clause.
    public var failureReason: String?
    /// The latest interim response, except for upload progress, which is in `completedBytes`.
    public var interimResponse: InterimResponse?
    /// The URL of the last redirect.
    public var redirectedTo: String?

    /// Makes the first status of a transfer.
    public init() {}

    /// Whether this is the last status of the transfer.
    public var isLast: Bool { [.finished, .failed, .paused, .cancelled].contains(phase) }

    /// The completed fraction, from 0 to 1; `nil` until the size is known.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return totalBytes == 0 ? 1 : min(1, max(0, Double(completedBytes) / Double(totalBytes)))
    }
}
