internal import FaultPlan
internal import FaultProfile
internal import Units

/// One action of a fault, as the journal has it.
public struct FaultEvent: Hashable, Sendable, CustomStringConvertible {
    /// A direction of a connection.
    public enum Direction: String, Hashable, Sendable {
        /// Client to server.
        case upstream
        /// Server to client.
        case downstream
    }

    /// What a fault did. Later versions may have more.
    public struct Effect: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The journal's word.
        public let rawValue: String

        /// An effect by the journal's word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The journal's word.
        public var description: String { rawValue }

        /// Bytes are delayed from here on.
        public static let delays = Effect(rawValue: "delays")
        /// Bytes are limited to a rate from here on.
        public static let limits = Effect(rawValue: "limits")
        /// The connection was ended in order (FIN).
        public static let closes = Effect(rawValue: "closes")
        /// The connection was reset (RST).
        public static let resets = Effect(rawValue: "resets")
        /// Nothing passes from here on, by a cut.
        public static let blackholes = Effect(rawValue: "falls silent")
        /// Nothing passes, by an outage.
        public static let silences = Effect(rawValue: "silences")
        /// The next byte waits.
        public static let stalls = Effect(rawValue: "stalls")
        /// Segments are lost from here on.
        public static let loses = Effect(rawValue: "loses")
        /// A new connection was refused.
        public static let refuses = Effect(rawValue: "refuses")
        /// A new connection isn't accepted.
        public static let hangs = Effect(rawValue: "hangs")
        /// The connection to the server is made late.
        public static let connectsLate = Effect(rawValue: "connects late")
        /// The end of the stream is held back.
        public static let closesLate = Effect(rawValue: "closes late")
        /// A bit was flipped.
        public static let corrupts = Effect(rawValue: "corrupts")
        /// Bytes were removed.
        public static let truncates = Effect(rawValue: "truncates")
        /// Bytes were inserted.
        public static let inserts = Effect(rawValue: "inserts")
        /// All bytes are dropped from here on.
        public static let discards = Effect(rawValue: "discards")
        /// Writes are sliced from here on.
        public static let slices = Effect(rawValue: "slices")
        /// A request was answered in the server's place.
        public static let answers = Effect(rawValue: "answers")
        /// An informational response was dropped.
        public static let drops = Effect(rawValue: "drops")
    }

    /// The time since the proxy started.
    public let time: Duration
    /// The fault's name in the profile: its kind, numbered from the second on ("cut-2"), with the phase in front
    /// ("gone/outage"), unless the profile names it.
    public let fault: String
    /// What it did.
    public let effect: Effect
    /// The connection's number, from 1; `nil` for an event of the whole proxy.
    public let connection: UInt64?
    /// The direction; `nil` for both.
    public let direction: Direction?
    /// The offset in bytes at which it acted; `nil` if the clock decided.
    public let offset: Int64?
    /// The request from whose message the offset counts, from 1; `nil` if it counts from the start of the connection.
    public let request: Int64?

    /// "cut resets connection 2 downstream at byte 65536, after 1.204 s".
    public var description: String {
        var text = "\(fault) \(effect)"
        if let connection { text += " connection \(connection)" }
        if let direction { text += " \(direction.rawValue)" }
        if let offset { text += " at byte \(offset)" }
        if let request { text += " of message \(request)" }
        return text + ", after \(Duration.milliseconds(time.nanoseconds / 1_000_000).text)"
    }

    /// The journal's word for a stream that isn't read as HTTP, which is no fault.
    package static let unreadWord = FaultPlan.FaultEvent.Effect.unreadWord

    /// An event that a journal tells, `time` after its start.
    package init(
        time: Duration,
        fault: String,
        effect: Effect,
        connection: UInt64?,
        direction: Direction?,
        offset: Int64?,
        request: Int64?
    ) {
        (self.time, self.fault, self.effect, self.connection) = (time, fault, effect, connection)
        (self.direction, self.offset, self.request) = (direction, offset, request)
    }

    init(_ entry: JournalEntry, since start: Moment) {
        time = entry.moment - start
        fault = entry.fault
        effect = Effect(rawValue: entry.effect.word)
        connection = entry.connection
        direction =
            switch entry.direction {
            case .upstream: .upstream
            case .downstream: .downstream
            case nil: nil
            }
        offset = entry.offset
        request = entry.place?.request
    }
}
