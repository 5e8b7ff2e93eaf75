/// Tracks one response body: where its bytes belong, and whether their number matches the head.
public struct DownloadBody: Hashable, Sendable {
    /// What to do with a chunk of the body, in this order.
    public struct Portion: Hashable, Sendable {
        /// Bytes that repeat received ones.
        public var dropped: Int
        /// New bytes. Those beyond the announced end are neither dropped nor kept.
        public var kept: Int
    }

    /// The offset of the body's first byte in the representation.
    private let first: Int64
    /// The offset of the body's next byte in the representation.
    private(set) var position: Int64
    /// The offset up to which bytes had been received when the body started.
    private let received: Int64
    /// The offset after the body's last byte, if the head announced it.
    let end: Int64?
    /// How the end of the body is marked.
    let framing: DownloadFraming
    /// Whether `end` comes from an earlier response rather than this head.
    var isEndRemembered = false
    /// Whether the known digest comes from an earlier response, so that trailers may replace it.
    var isDigestRemembered = false
    /// Whether the body replaces damaged bytes and adds no new ones.
    var isRepair = false
    /// Whether the body exceeded its announced length.
    private(set) var isTooLong = false

    init(from first: Int64, received: Int64, end: Int64?, framing: DownloadFraming) {
        self.first = first
        position = first
        self.received = received
        self.end = end
        self.framing = framing
    }

    /// Whether the body ended before its announced end.
    var isTooShort: Bool { end.map { position < $0 } ?? false }

    /// The number of bytes that came, including repeated ones.
    var count: Int64 { position - first }

    /// Whether exactly the received bytes were repeated.
    var hasRepeatedAll: Bool { position == received && count > 0 }

    /// Whether bytes came that hadn't been received before.
    var hasNewBytes: Bool { position > received }

    mutating func receive(_ count: Int) -> Portion {
        let dropped = Int(min(Int64(count), max(0, received - position)))
        let room = end.map { max(0, $0 - position) } ?? .max
        let inside = Int(min(Int64(count), room))
        let keptNow = max(0, inside - dropped)
        position = position.addingSaturated(Int64(inside))
        if inside < count { isTooLong = true }
        return Portion(dropped: min(dropped, inside), kept: keptNow)
    }
}
