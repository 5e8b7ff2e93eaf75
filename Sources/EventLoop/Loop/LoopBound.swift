/// A value bound to one loop: it can be passed between threads, but only read on the loop's thread.
public final class LoopBound<Value>: @unchecked Sendable {
    /// The loop of the value.
    public let loop: EventLoop
    private let stored: Value

    /// Binds `value` to `loop`; traps off the loop.
    public init(_ value: Value, on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        stored = value
    }

    /// The value; traps off its loop.
    public var value: Value {
        loop.preconditionOnLoop()
        return stored
    }
}
