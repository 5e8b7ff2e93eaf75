/// A value bound to one loop: it can be passed between threads, but only read on the loop's thread.
public final class LoopBound<Value>: @unchecked Sendable {
    /// The loop of the value.
    public let loop: EventLoop
    private enum Stored {
        case made(Value)
        case awaited(() -> Value)
    }

    private var stored: Stored

    /// Binds `value` to `loop`; traps off the loop.
    public init(_ value: Value, on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
        stored = .made(value)
    }

    /// Binds a value that `make` makes on the loop, when it is first read. Callable from any thread.
    public init(on loop: EventLoop, _ make: @escaping @Sendable () -> Value) {
        self.loop = loop
        stored = .awaited(make)
    }

    /// The value; traps off its loop.
    public var value: Value {
        loop.preconditionOnLoop()
        switch stored {
        case .made(let value):
            return value
        case .awaited(let make):
            let value = make()
            stored = .made(value)
            return value
        }
    }
}
