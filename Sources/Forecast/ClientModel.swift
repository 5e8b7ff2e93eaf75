import FaultProfile
import Units

/// The retry behaviour of a client.
public protocol RetryModel: Sendable {
    /// Notes the progress of the transfer.
    mutating func reached(_ offset: Int64)
    /// The wait before the next attempt after one that failed at `now`; `nil` if the client gives up.
    ///
    /// - Parameters:
    ///   - isImmediate: whether the next request is a different one, which needs no back-off.
    ///   - answer: the answer of a fault, if the client has received one in place of the server's.
    mutating func failed(at now: Moment, isImmediate: Bool, answer: HTTPAnswer?) -> Duration?
}

/// The assumptions about the client and the server of a transfer.
public struct ClientModel: Hashable, Sendable {
    /// What is known of its connections, for triggers; nothing by default.
    public var facts = ConnectionFacts()
    /// The bytes of a request; 160 by default.
    public var requestBytes: Int64 = 160
    /// The bytes of a response head, sent on each connection; 320 by default.
    public var headBytes: Int64 = 320
    /// The connect time-out; 10 s by default.
    public var connectLimit = Duration.seconds(10)
    /// The time-out of the first response byte; 30 s by default.
    public var firstByteLimit = Duration.seconds(30)
    /// The window of the minimum throughput, in five slots; 15 s by default.
    public var stallWindow = Duration.seconds(15)
    /// The least bytes in a window; 15 KiB by default.
    public var stallBytes: Int64 = 15 << 10

    /// The most received bytes that a download transfers again behind a broken connection, and at most half of the last
    /// body; 0 by default.
    public var overlapLimit: Int64 = 0
    /// How long the content of an upload that has no URL yet waits for the server's interim response with it; 0 by default,
    /// for a client that sends both together.
    public var contentWait = Duration.zero

    /// Makes the default model, for an unknown client. `squall plan` takes the limits of `squall get` from the client.
    public init() {}
}

/// Detects a body below the minimum throughput, as the client does, in a window of five slots.
struct StallWatch {
    private static let slotCount = 5
    private let slot: Int64
    private let leastBytes: Int64
    private var slots: [Int64] = []
    private var counted: Int64 = 0
    /// The end of the current slot; `distantFuture` before the first response byte.
    private(set) var next = Moment.distantFuture

    init(_ client: ClientModel) {
        slot = max(1_000_000, client.stallWindow.nanoseconds / Int64(StallWatch.slotCount))
        leastBytes = client.stallBytes
    }

    mutating func start(at now: Moment) {
        if next == .distantFuture { next = now.advanced(byNanoseconds: slot) }
    }

    /// Whether the body, at `bytes` now, has stalled. To be called at `next`.
    mutating func hasStalled(bytes: Int64, at now: Moment) -> Bool {
        guard now >= next else { return false }
        slots.append(bytes - counted)
        if slots.count > StallWatch.slotCount { slots.removeFirst() }
        counted = bytes
        next = next.advanced(byNanoseconds: slot)
        return slots.count == StallWatch.slotCount && slots.reduce(0, +) < leastBytes
    }
}
