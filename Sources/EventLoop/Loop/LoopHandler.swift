/// Owns sockets or timers of a loop beyond one callback, and closes them at shutdown.
public protocol LoopShutdownHandler: AnyObject {
    /// Closes everything; the last call before the loop ends.
    func loopWillEnd()

    /// Closes expendable descriptors, because they run short. Returns the number of ended connections.
    func releaseDescriptors() -> Int
}

extension LoopShutdownHandler {
    /// Closes nothing.
    public func releaseDescriptors() -> Int { 0 }
}

/// The callbacks of a loop's sockets and timers. Instances belong to one loop.
///
/// The loop keeps no reference. Code that closes a handler's last socket or timer within a callback passes the handler to
/// `EventLoop.deferRelease`, which keeps it until the end of the turn.
open class LoopHandler {
    /// Makes a handler; for subclasses.
    public init() {}

    /// Called when the socket with this tag can be read or written, or has ended; its flags say which.
    open func socketIsReady(_ tag: Int) {}

    /// Called when the timer with this tag fires.
    open func timerFired(_ tag: Int) {}
}
