import Units

/// What happens when a client connects, in place of a connection that is there at once.
public struct Connect: Hashable, Sendable {
    /// What the client sees of it.
    public var how: Manner

    /// What happens to those who connect.
    public enum Manner: Hashable, Sendable {
        /// The client is accepted; the server is connected to, and the client is read, only after a time. The
        /// time is above zero, and drawn evenly from as much as `jitter` below to as much above it.
        case delay(Duration, jitter: Duration)
        /// Nobody accepts, for as long as the fault is on. Those that conditions pick are accepted by the
        /// system alone: nobody reads, and no server is connected to.
        case hang
        /// Connections are refused. Those that conditions pick are accepted and reset.
        case refuse
        /// The client is accepted and sees the end of the stream (FIN) at once; no server is connected to.
        case close
    }

    /// Makes a connect fault.
    public init(how: Manner) {
        self.how = how
    }
}
