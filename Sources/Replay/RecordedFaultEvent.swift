import FaultPlan
import FaultProfile

/// A line of a journal, its time aside.
public struct RecordedFaultEvent: Hashable, Sendable {
    /// The proxy's name.
    public var proxy: String
    /// The connection's number; `nil` where the whole proxy is concerned.
    public var connection: UInt64?
    /// The direction; `nil` where both are concerned.
    public var direction: Direction?
    /// The fault's name.
    public var fault: String
    /// Where it acted, if a position decided.
    public var offset: Int64?
    /// What the offset is counted in.
    public var base: OffsetBase
    /// The number of the request on its connection, from 1, if it was a message that it acted.
    public var request: Int64?
    /// What it did.
    public var what: String

    /// Makes a fault event out of its parts.
    public init(
        proxy: String,
        connection: UInt64? = nil,
        direction: Direction? = nil,
        fault: String,
        offset: Int64? = nil,
        base: OffsetBase = .connection,
        request: Int64? = nil,
        what: String
    ) {
        self.proxy = proxy
        self.connection = connection
        self.direction = direction
        self.fault = fault
        self.offset = offset
        self.base = base
        self.request = request
        self.what = what
    }
}

extension RecordedFaultEvent {
    /// Every word that `what` can be.
    public static let words = Set(
        ([
            .delays, .limits, .cuts(.close), .cuts(.reset), .cuts(.silence), .stalls, .loses, .connectsLate, .silences,
            .resets, .refuses, .corrupts, .truncates, .inserts, .slices, .answers, .drops, .isNoHTTP(.notHTTP), .hangs,
            .closesLate,
        ] as [FaultEvent.Effect]).map(\.word)
    )
}
