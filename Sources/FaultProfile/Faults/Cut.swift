import Units

/// Exactly so many bytes pass, or so much time, then the connection ends.
public struct Cut: Hashable, Sendable {
    /// Where the connection ends.
    public var position: Position
    /// How it ends.
    public var how: Ending
    /// What the position's offsets are counted in; `connection` where it has none.
    public var origin: Origin

    /// Where a cut is made. Offsets are zero or more; zero ends the connection before its first byte.
    public enum Position: Hashable, Sendable {
        /// After this many bytes.
        case at(ByteCount)
        /// The first connection that the fault meets is cut at the first offset, the second at the
        /// second, and so on; connections after the last are left alone. Never empty.
        case inTurn([ByteCount])
        /// At the next multiple of this, which is above zero.
        case every(ByteCount)
        /// At an offset drawn for each connection, evenly, both ends included.
        case between(ByteCount, ByteCount)
        /// At this age of the connection, however busy it is. Above zero; both directions end.
        case after(Duration)
        /// When for this long no byte has passed in either direction. Above zero; both directions end.
        case idle(Duration)
        /// Behind the first of these bytes in the stream.
        case pattern(BytePattern)
    }

    /// How a cut connection ends.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        /// The receiver sees an orderly end (FIN).
        case close
        /// The receiver sees a reset (RST), after everything before the cut has reached it.
        case reset
        /// Neither end is told: nothing passes any more, in either direction, until the ends give up.
        case silence
    }

    /// Makes a cut.
    public init(position: Position, how: Ending, origin: Origin = .connection) {
        self.position = position
        self.how = how
        self.origin = origin
    }
}
