import FaultProfile

/// One action of a fault on a link, for the journal. The connection and the direction are known to the link's owner.
public struct FaultEvent: Hashable, Sendable {
    /// The identity of the fault, see `Plan.fault`: in the first generation of a plan its index in `Plan.faults`.
    public var fault: Int
    /// The offset at which the fault acted; `nil` if time decided and not a position.
    public var offset: Int64?
    /// The base of the offset and its request; `nil` if the offset counts from the start of the connection.
    public var place: MessagePlace?
    /// What the fault did.
    public var effect: Effect

    /// The effect of a fault.
    public enum Effect: Hashable, Sendable {
        /// Bytes are delayed from here on.
        case delays
        /// Bytes are limited to a rate from here on.
        case limits
        /// The connection was ended after `offset` bytes.
        case cuts(Cut.Ending)
        /// The next byte waits.
        case stalls
        /// Segments are lost from here on; the first of them begins at `offset`.
        case loses
        /// The connection to the server is made late, by a delay or a lost handshake.
        case connectsLate
        /// Nothing passes.
        case silences
        /// The live connection was reset.
        case resets
        /// New connections are refused.
        case refuses
        /// A bit of the byte at `offset` was flipped.
        case corrupts
        /// Bytes after `offset` were removed.
        case truncates
        /// All bytes are dropped from here on.
        case discards
        /// Bytes were inserted at `offset`.
        case inserts
        /// Writes are sliced from here on.
        case slices
        /// A request was answered in the server's place.
        case answers
        /// An informational response was dropped.
        case drops
        /// The stream isn't readable HTTP, so faults on messages don't apply.
        case isNoHTTP(UnreadReason)
        /// A new connection isn't accepted.
        case hangs
        /// A certificate with a flaw, or another one, was presented.
        case presents
        /// An alert was sent in place of a ServerHello, or behind `offset` bytes.
        case alerts
        /// A protocol or a version was agreed to that might have been another.
        case negotiates
        /// The end of the stream is held back.
        case closesLate
    }

    /// Makes an event of the fault with the identity `fault`.
    public init(fault: Int, offset: Int64?, place: MessagePlace? = nil, effect: Effect) {
        self.fault = fault
        self.offset = offset
        self.place = place
        self.effect = effect
    }

    /// The event of an answer in the server's place to a request, by its number on the connection, from 1.
    public static func answer(to request: Int64, by fault: Int) -> FaultEvent {
        let place = MessagePlace(base: .connection, request: request)
        return FaultEvent(fault: fault, offset: nil, place: place, effect: .answers)
    }
}
