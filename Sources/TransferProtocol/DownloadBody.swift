/// The account of one response's body: where its bytes belong, and whether they are as many as the head said.
public struct DownloadBody: Hashable, Sendable {
    /// What to do with some bytes of the body, in this order.
    public struct Portion: Hashable, Sendable {
        /// How many bytes only repeat what is held.
        public var dropped: Int
        /// How many bytes are new.
        public var kept: Int
        /// How many bytes lie beyond what the head said; they must not be written.
        public var excess: Int

        /// Makes a portion.
        public init(dropped: Int, kept: Int, excess: Int) {
            self.dropped = dropped
            self.kept = kept
            self.excess = excess
        }
    }

    /// The offset of the body's next byte in the representation.
    private(set) var position: Int64
    /// The offset up to which bytes are held already when the body starts.
    private let held: Int64
    /// The offset behind the body's last byte, as far as the head tells.
    let end: Int64?
    /// How the body's end is told.
    let framing: DownloadFraming
    /// Whether `end` comes from an earlier response of the same representation, not from this one's head.
    var isEndRemembered = false
    /// Whether the digest that is known comes from an earlier response, so that this one's trailers may tell a newer.
    var isDigestRemembered = false
    /// Whether the body takes the place of damaged bytes, and brings no new ones.
    var isRepair = false
    /// Whether more came than the head said.
    private(set) var isTooLong = false

    init(from first: Int64, held: Int64, end: Int64?, framing: DownloadFraming) {
        position = first
        self.held = held
        self.end = end
        self.framing = framing
    }

    /// Whether the body ended before the offset that the head named.
    var isTooShort: Bool { end.map { position < $0 } ?? false }

    mutating func take(_ count: Int) -> Portion {
        let dropped = Int(min(Int64(count), max(0, held - position)))
        let room = end.map { max(0, $0 - position) } ?? .max
        let inside = Int(min(Int64(count), room))
        let keptNow = max(0, inside - dropped)
        position = position.addingSaturated(Int64(inside))
        if inside < count { isTooLong = true }
        return Portion(dropped: min(dropped, inside), kept: keptNow, excess: count - inside)
    }
}
