import FaultProfile
import Units

/// One line of the journal: what a fault did, where and when.
public struct JournalEntry: Hashable, Sendable {
    /// The time, on the proxy's monotonic clock.
    public var moment: Moment
    /// The proxy's name.
    public var proxy: String
    /// The connection's number, from 1; `nil` for an event of the whole proxy.
    public var connection: UInt64?
    /// The direction; `nil` for both.
    public var direction: Direction?
    /// The fault's name in the profile.
    public var fault: String
    /// The fault's kind.
    public var kind: FaultKind.Name
    /// The offset at which the fault acted; `nil` if the clock decided, because the offset then depends on the
    /// machine's speed.
    public var offset: Int64?
    /// The base of the offset and its request; `nil` if the offset counts from the start of the connection.
    public var place: MessagePlace?
    /// What the fault did.
    public var effect: FaultEvent.Effect

    /// Makes an entry out of its parts.
    public init(
        moment: Moment,
        proxy: String,
        connection: UInt64?,
        direction: Direction?,
        fault: String,
        kind: FaultKind.Name,
        offset: Int64?,
        place: MessagePlace? = nil,
        effect: FaultEvent.Effect
    ) {
        self.moment = moment
        self.proxy = proxy
        self.connection = connection
        self.direction = direction
        self.fault = fault
        self.kind = kind
        self.offset = offset
        self.place = place
        self.effect = effect
    }
}

extension FaultEvent.Effect {
    /// The journal's word for a stream that isn't read as HTTP.
    public static let unreadWord = "isn't HTTP"

    /// Why the stream isn't read as HTTP; `nil` for other effects.
    public var reason: UnreadReason? {
        if case .isNoHTTP(let reason) = self { reason } else { nil }
    }

    /// The journal's word for the effect.
    public var word: String {
        switch self {
        case .delays: "delays"
        case .limits: "limits"
        case .cuts(.close), .cuts(.notify): "closes"
        case .cuts(.reset): "resets"
        case .cuts(.silence): "falls silent"
        case .stalls: "stalls"
        case .loses: "loses"
        case .connectsLate: "connects late"
        case .silences: "silences"
        case .resets: "resets"
        case .refuses: "refuses"
        case .corrupts: "corrupts"
        case .truncates: "truncates"
        case .discards: "discards"
        case .inserts: "inserts"
        case .slices: "slices"
        case .answers: "answers"
        case .drops: "drops"
        case .isNoHTTP: FaultEvent.Effect.unreadWord
        case .hangs: "hangs"
        case .closesLate: "closes late"
        case .presents: "presents"
        case .alerts: "alerts"
        case .negotiates: "negotiates"
        }
    }
}
