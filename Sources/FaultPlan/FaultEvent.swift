import FaultProfile

/// A fault that acted: what the journal is told. Which connection and direction it was is known to
/// whoever took the event from the link.
public struct FaultEvent: Hashable, Sendable {
    /// The identity of the fault, see `Plan.fault`: in the first generation of a plan its index in `Plan.faults`.
    public var fault: Int
    /// The offset at which the fault acted, where its position is what decided; `nil` where time did.
    public var offset: Int64?
    /// What the offset is counted in, and of which request, where that isn't the connection.
    public var place: MessagePlace?
    /// What it did.
    public var effect: Effect

    /// What a fault does when it acts.
    public enum Effect: Hashable, Sendable {
        /// Bytes are delayed from here on.
        case delays
        /// Bytes are held to a rate from here on.
        case limits
        /// The connection was ended after `offset` bytes.
        case cuts(Cut.Ending)
        /// The next byte waits.
        case stalls
        /// Segments are lost from here on; the first of them begins at `offset`.
        case loses
        /// The connection to the server comes late: its first packets were lost, or a delay has it so.
        case connectsLate
        /// Nothing passes.
        case silences
        /// The live connection was reset.
        case resets
        /// New connections are refused.
        case refuses
        /// A bit of the byte at `offset` was flipped.
        case corrupts
        /// Bytes behind `offset` vanished.
        case truncates
        /// Bytes were put in behind `offset`.
        case inserts
        /// Bytes are handed over in slices from here on.
        case slices
        /// A request was answered in the server's place.
        case answers
        /// An informational response vanished.
        case drops
        /// The stream isn't HTTP that is read, so that faults of messages don't act on it.
        case isNoHTTP(UnreadReason)
        /// Who connects is accepted by nobody.
        case hangs
        /// The end of the stream waits.
        case closesLate
    }

    /// Makes a fault event of the fault of the identity `fault`.
    public init(fault: Int, offset: Int64?, place: MessagePlace? = nil, effect: Effect) {
        self.fault = fault
        self.offset = offset
        self.place = place
        self.effect = effect
    }
}
