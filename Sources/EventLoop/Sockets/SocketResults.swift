import OperatingSystem
import Units

/// Bytes at the start of a loop's scratch buffer.
public struct Chunk {
    /// Their number.
    public var count: Int
    /// When the last of them came, if that matters.
    public var arrival: Moment?
    /// Whether the end of the stream is known to follow them.
    public var endFollows: Bool

    /// Makes a chunk.
    public init(count: Int, arrival: Moment? = nil, endFollows: Bool = false) {
        self.count = count
        self.arrival = arrival
        self.endFollows = endFollows
    }
}

/// The result of a receive.
public enum ReceiveResult {
    /// These bytes, at least one, are in the loop's scratch buffer.
    case received(Chunk)
    /// Nothing now; the handler will be called.
    case wouldBlock
    /// The peer has ended its stream (FIN).
    case ended
    /// The connection is broken, as a rule by a reset.
    case failed(SystemError)
}

/// The result of a splice from a socket into a pipe.
public enum SpliceResult {
    /// This many bytes, above 0, are in the pipe.
    case received(Int)
    /// Nothing was moved; `receive` tells why, because splice(2) also returns nothing, or a false end, before urgent data.
    case nothing
    /// The connection is broken, as a rule by a reset.
    case failed(SystemError)
}

/// The result of a send.
public enum SendResult {
    /// The kernel has taken this many bytes, above 0.
    case sent(Int)
    /// No room now; the handler will be called.
    case wouldBlock
    /// The connection is broken.
    case failed(SystemError)
}
