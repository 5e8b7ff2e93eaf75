import FaultPlan
import FaultProfile

/// A line of a journal, its time aside.
public struct RecordedStrike: Hashable, Sendable {
    /// The proxy's name.
    public var proxy: String
    /// The connection's number; `nil` where the whole proxy is concerned.
    public var connection: UInt64?
    /// The direction; `nil` where both are concerned.
    public var direction: Direction?
    /// The fault's name.
    public var fault: String
    /// Where it struck, if a position decided.
    public var offset: Int64?
    /// What the offset is counted in.
    public var origin: Origin
    /// The number of the request on its connection, from 1, if it was a message that it struck.
    public var request: Int64?
    /// What it did.
    public var what: String

    /// Makes a strike out of its parts.
    public init(
        proxy: String,
        connection: UInt64? = nil,
        direction: Direction? = nil,
        fault: String,
        offset: Int64? = nil,
        origin: Origin = .connection,
        request: Int64? = nil,
        what: String
    ) {
        self.proxy = proxy
        self.connection = connection
        self.direction = direction
        self.fault = fault
        self.offset = offset
        self.origin = origin
        self.request = request
        self.what = what
    }
}

extension RecordedStrike {
    /// Every word that `what` can be.
    public static let words = Set(
        ([
            .delays, .limits, .cuts(.close), .cuts(.reset), .cuts(.silence), .stalls, .loses, .connectsLate, .silences,
            .resets, .refuses, .corrupts, .truncates, .inserts, .slices, .answers, .drops, .isNoHTTP(.notHTTP), .hangs,
            .closesLate,
        ] as [Strike.Effect]).map(\.word)
    )
}
