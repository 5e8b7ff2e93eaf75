/// Where a transfer stands.
///
/// A whole picture, not a change: a status that wasn't read can be left out, and the newest tells everything.
public struct TransferStatus: Hashable, Sendable {
    /// What the transfer is doing. Others may be added.
    public struct Phase: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name.
        public let rawValue: String
        /// Makes a phase of its name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The name.
        public var description: String { rawValue }

        /// Files are being opened, and hashed; the stream of an upload is read.
        public static let preparing = Phase(rawValue: "preparing")
        /// It asks, and bytes move.
        public static let transferring = Phase(rawValue: "transferring")
        /// An attempt failed; the next follows after `nextAttempt`.
        public static let waiting = Phase(rawValue: "waiting")
        /// The network is away, and the transfer waits for it: `TransferConfiguration.waitsForConnectivity`.
        public static let waitingForNetwork = Phase(rawValue: "waiting-for-network")
        /// It has come to its end. The last status.
        public static let finished = Phase(rawValue: "finished")
        /// It has failed; the reason is thrown. The last status.
        public static let failed = Phase(rawValue: "failed")
        /// It was paused or cancelled. The last status.
        public static let cancelled = Phase(rawValue: "cancelled")
    }

    /// What the transfer is doing.
    public var phase = Phase.preparing
    /// The bytes that are done: held of a download, acknowledged by the server of an upload. Smaller than before only when the
    /// transfer started over.
    public var completedBytes: Int64 = 0
    /// The bytes of an upload that were handed to connections up to here, acknowledged or not; else `completedBytes`.
    public var sentBytes: Int64 = 0
    /// The bytes of the whole; `nil` until the length is known.
    public var totalBytes: Int64?
    /// How often the transfer went on at an offset.
    public var resumptions = 0
    /// How often it started over.
    public var restarts = 0
    /// How long the transfer waits before its next attempt, in the phase `waiting`.
    public var nextAttempt: Duration?
    /// Why the last attempt failed, or why it started over, as a clause.
    public var setback: String?
    /// The last informational response. That of an upload's progress isn't shown: `completedBytes` has it.
    public var informational: TransferInformation?
    /// The URL that the transfer was redirected to.
    public var redirectedTo: String?

    /// Whether it is the last status of the transfer.
    public var isLast: Bool { phase == .finished || phase == .failed || phase == .cancelled }

    /// Fraction completed, from 0 to 1; `nil` until the length is known.
    public var fraction: Double? {
        guard let totalBytes else { return nil }
        return totalBytes == 0 ? 1 : min(1, max(0, Double(completedBytes) / Double(totalBytes)))
    }
}
