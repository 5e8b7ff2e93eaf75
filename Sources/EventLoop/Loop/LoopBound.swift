/// A value that lives on one loop, held by code that doesn't: it can be passed between threads, and
/// opened on the loop's thread alone.
public final class LoopBound<Value>: @unchecked Sendable {
    /// The loop that the value lives on.
    public let loop: EventLoop
    private let stored: Value

    /// Makes `value` a resident of `loop`; to be called on it.
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
