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

/// What moving bytes from a socket into a pipe gave.
public enum SpliceResult {
    /// So many bytes, more than 0, are in the pipe.
    case received(Int)
    /// Nothing was moved. The socket's `receive` is to be asked why: in front of urgent data splice(2) tells of nothing
    /// as well, or of an end that isn't one.
    case nothing
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
