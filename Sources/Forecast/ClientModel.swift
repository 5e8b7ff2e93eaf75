import Units

/// When a client tries again: the part of it that a forecast can't know by itself.
public protocol RetryModel: Sendable {
    /// The transfer has got to `offset`.
    mutating func reached(_ offset: Int64)
    /// An attempt failed at `now`: how long the client waits before the next one; `nil` when it gives up.
    mutating func failed(at now: Moment) -> Duration?
}

/// What is assumed of the client and the server at both ends of a transfer.
public struct ClientModel: Hashable, Sendable {
    /// The client's address, for what depends on it: not known unless told.
    public var address: String?
    /// The bytes of a request: 160 unless told otherwise.
    public var requestBytes: Int64 = 160
    /// The bytes in front of the body of an answer: 320 unless told otherwise. Sent again on each connection.
    public var headBytes: Int64 = 320
    /// How long connecting may take: 10 s unless told otherwise.
    public var connectLimit = Duration.seconds(10)
    /// How long the first byte of an answer may take: 30 s unless told otherwise.
    public var firstByteLimit = Duration.seconds(30)
    /// The time over which a body that comes is judged: 15 s unless told otherwise. In fifths.
    public var stallWindow = Duration.seconds(15)
    /// The bytes that the window must bring: 15 KiB unless told otherwise.
    public var stallBytes: Int64 = 15 << 10

    /// Makes the model of the defaults, for a client that isn't known. `squall plan` has the limits of `squall get` from
    /// the client itself.
    public init() {}
}

/// Notices, as the client does, that a body comes too slowly: a window of five slots.
struct StallWatch {
    private static let slotCount = 5
    private let slot: Int64
    private let leastBytes: Int64
    private var slots: [Int64] = []
    private var counted: Int64 = 0
    /// When the slot that runs is over; `distantFuture` before the first byte of the answer.
    private(set) var next = Moment.distantFuture

    init(_ client: ClientModel) {
        slot = max(1_000_000, client.stallWindow.nanoseconds / Int64(StallWatch.slotCount))
        leastBytes = client.stallBytes
    }

    /// The answer has begun.
    mutating func start(at now: Moment) {
        if next == .distantFuture { next = now.advanced(byNanoseconds: slot) }
    }

    /// Whether the body, at `bytes` now, has stalled. To be asked at `next`.
    mutating func hasStalled(bytes: Int64, at now: Moment) -> Bool {
        guard now >= next else { return false }
        slots.append(bytes - counted)
        if slots.count > StallWatch.slotCount { slots.removeFirst() }
        counted = bytes
        next = next.advanced(byNanoseconds: slot)
        return slots.count == StallWatch.slotCount && slots.reduce(0, +) < leastBytes
    }
}
