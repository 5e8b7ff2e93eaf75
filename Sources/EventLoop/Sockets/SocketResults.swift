import OperatingSystem

/// The result of a receive.
public enum ReceiveResult {
    /// This many bytes, above 0, are in the loop's scratch buffer.
    case received(Int)
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
