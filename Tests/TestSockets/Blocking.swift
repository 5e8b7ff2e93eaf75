import Dispatch
import Synchronization

/// Runs `body`, which may block, on a thread that is no task's.
public func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "test").async {
            continuation.resume(with: Swift.Result { try body() })
        }
    }
}

/// A value that several threads write.
public final class Shared<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    /// Makes a value.
    public init(_ value: Value) { stored = Mutex(value) }

    /// The value now.
    public var value: Value { stored.withLock { $0 } }

    /// Changes the value.
    public func update(_ change: @Sendable (inout Value) -> Void) {
        stored.withLock { value in
            var copy = value
            change(&copy)
            value = copy
        }
    }
}
