/// Who holds sockets or timers of a loop for longer than a callback, and closes them when the loop ends.
public protocol LoopShutdownHandler: AnyObject {
    /// The loop is about to end: the last call on its thread. Everything is to be closed now.
    func loopWillEnd()

    /// Descriptors run short: those that nobody misses are to be closed now. Returns how many connections that ended.
    func releaseDescriptors() -> Int
}

extension LoopShutdownHandler {
    /// Closes nothing.
    public func releaseDescriptors() -> Int { 0 }
}

/// What a loop calls back: a class whose instances live on one loop and are told of its sockets and timers.
///
/// The loop keeps no reference. Who closes a handler's last socket or timer inside a callback hands
/// the handler to `EventLoop.deferRelease`, which keeps it until the callbacks of this turn are over.
open class LoopHandler {
    /// Makes a handler; for subclasses.
    public init() {}

    /// A socket opened with this tag can be read or written, or has ended; its flags say which.
    open func socketIsReady(_ tag: Int) {}

    /// A timer made with this tag has come to its moment.
    open func timerFired(_ tag: Int) {}
}
