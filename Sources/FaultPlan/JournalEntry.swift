import Units

/// One line of the journal: a fault that acted, where and when.
public struct JournalEntry: Hashable, Sendable {
    /// When, on the proxy's monotonic clock.
    public var moment: Moment
    /// The proxy's name.
    public var proxy: String
    /// The connection's number, from 1; `nil` where the whole proxy is concerned.
    public var connection: UInt64?
    /// The direction; `nil` where both are concerned.
    public var direction: Direction?
    /// The fault's name in the profile.
    public var fault: String
    /// The offset at which it acted, where a position decided; `nil` where the clock did, because
    /// then the offset depends on how fast the machine happened to be.
    public var offset: Int64?
    /// What the offset is counted in, and of which request, where that isn't the connection.
    public var place: MessagePlace?
    /// What it did.
    public var effect: FaultEvent.Effect

    /// Makes an entry out of its parts.
    public init(
        moment: Moment,
        proxy: String,
        connection: UInt64?,
        direction: Direction?,
        fault: String,
        offset: Int64?,
        place: MessagePlace? = nil,
        effect: FaultEvent.Effect
    ) {
        self.moment = moment
        self.proxy = proxy
        self.connection = connection
        self.direction = direction
        self.fault = fault
        self.offset = offset
        self.place = place
        self.effect = effect
    }
}

extension FaultEvent.Effect {
    /// The word for a stream that isn't read as HTTP, whatever the reason.
    public static let unreadWord = "isn't HTTP"

    /// Why the stream isn't read, if it isn't.
    public var reason: UnreadReason? {
        if case .isNoHTTP(let reason) = self { reason } else { nil }
    }

    /// The word that the journal uses for it.
    public var word: String {
        switch self {
        case .delays: "delays"
        case .limits: "limits"
        case .cuts(.close): "closes"
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
        case .inserts: "inserts"
        case .slices: "slices"
        case .answers: "answers"
        case .drops: "drops"
        case .isNoHTTP: FaultEvent.Effect.unreadWord
        case .hangs: "hangs"
        case .closesLate: "closes late"
        }
    }
}
