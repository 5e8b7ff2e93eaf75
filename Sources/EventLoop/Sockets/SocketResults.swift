/// What a receive gave.
public enum ReceiveResult {
    /// So many bytes, more than 0, are in the loop's scratch buffer.
    case received(Int)
    /// Nothing is there now; the handler is called when something is.
    case wouldBlock
    /// The peer has ended its stream (FIN).
    case ended
    /// The connection is broken, as a rule by a reset.
    case failed(SystemError)
}

/// What a send did.
public enum SendResult {
    /// So many bytes, more than 0, are with the kernel.
    case sent(Int)
    /// No room now; the handler is called when there is.
    case wouldBlock
    /// The connection is broken.
    case failed(SystemError)
}
