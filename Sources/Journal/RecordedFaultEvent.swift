import FaultPlan
import FaultProfile

/// A line of a journal without its time.
public struct RecordedFaultEvent: Hashable, Sendable {
    /// The proxy's name.
    public var proxy: String
    /// The connection's number; `nil` for an event of the whole proxy.
    public var connection: UInt64?
    /// The direction; `nil` for both.
    public var direction: Direction?
    /// The fault's name.
    public var fault: String
    /// The offset, if a position decided.
    public var offset: Int64?
    /// The base of the offset.
    public var base: OffsetBase
    /// The number of the request on its connection, from 1, for an event on a message.
    public var request: Int64?
    /// The effect.
    public var what: String
    /// The connection as one to its target; `nil` if a journal doesn't say it.
    package var target: RecordedTarget?

    /// Makes an event.
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

/// A connection by its target, which a journal tells of supervised programs: the order of their connections differs from run to
/// run.
package struct RecordedTarget: Hashable, Sendable {
    /// The target's address, with its port.
    let host: HostPattern
    /// The number among the connections to it, from 1.
    let number: UInt64
}

extension RecordedTarget {
    /// The target of a connect; `nil` if that wasn't accepted, or has a number beyond those of profiles.
    package init?(_ connect: ConnectRecord) {
        guard let number = connect.number, number <= ProfileLimits.connectionNumber,
            let host = try? HostPattern(parsing: connect.target)
        else { return nil }
        self.init(host: host, number: number)
    }
}

extension RecordedFaultEvent {
    /// All words of effects.
    public static let words = Set(
        ([
            .delays, .limits, .cuts(.close), .cuts(.notify), .cuts(.reset), .cuts(.silence), .stalls, .loses,
            .connectsLate, .silences,
            .resets, .refuses, .corrupts, .truncates, .inserts, .slices, .answers, .drops, .isNoHTTP(.notHTTP), .hangs,
            .closesLate, .discards, .presents, .alerts, .negotiates,
        ] as [FaultEvent.Effect]).map(\.word)
    )
}

extension RecordedFaultEvent: Comparable {
    /// The order of a sorted journal: by proxy, by connection, by direction (both, upstream, downstream), by request, by
    /// offset, by fault, and by what it did. Lines without one of these precede those with it. Runs of one seed have their
    /// positional events in this order, whichever machine and load they meet.
    public static func < (first: RecordedFaultEvent, second: RecordedFaultEvent) -> Bool {
        let (left, right) = (first.place, second.place)
        if left.owner != right.owner { return left.owner < right.owner }
        if left.position != right.position { return left.position < right.position }
        return left.act < right.act
    }

    private var place: (owner: (String, UInt64, Int), position: (Int64, Int64), act: (String, String, String)) {
        let rank =
            switch direction {
            case nil: 0
            case .upstream: 1
            case .downstream: 2
            }
        return ((proxy, connection ?? 0, rank), (request ?? 0, offset ?? -1), (fault, what, base.rawValue))
    }
}
