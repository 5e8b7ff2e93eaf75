import Units

/// Bytes pass when a recorded trace of a link gave an opportunity, and wait in a queue in front of it
/// until then. The trace starts with the connection and over again at its end. No byte is ever lost:
/// what finds the queue full stays with the sender.
public struct Trace: Hashable, Sendable {
    /// The bytes that may pass at each opportunity.
    public static let opportunitySize = ByteCount(1_500)

    /// The file that the opportunities were read from: a path as the process can open it.
    public var file: String
    /// When up to 1,500 B may pass: milliseconds since the trace began, none before the one in front of
    /// it, several at one time for more. Never empty; the last one is above zero, and is the length of
    /// the trace as well.
    public var opportunities: [UInt32]
    /// The bytes that wait at most: 1,500 or more. The more, the longer each waits.
    public var queue: ByteCount

    /// What `queue` is where a profile doesn't say: 256 KiB.
    public static let defaultQueue = ByteCount.kibibytes(256)

    /// Makes a trace; the rules of each part are stated at its property.
    public init(file: String, opportunities: [UInt32], queue: ByteCount = defaultQueue) {
        self.file = file
        self.opportunities = opportunities
        self.queue = queue
    }
}
