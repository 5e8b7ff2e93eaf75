import Glibc

/// Threads that end with their work: one of a pool would keep a filter of system calls, or wait for another one.
package enum DetachedThread {
    private final class Work {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    /// Runs `body` on a new thread.
    ///
    /// - Throws: `SystemError` of pthread_create; `body` isn't run then.
    package static func start(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
        var thread = pthread_t()
        let work = Unmanaged.passRetained(Work(body))
        let code = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            },
            work.toOpaque()
        )
        guard code == 0 else {
            work.release()
            throw SystemError(call: "pthread_create", code: code)
        }
        pthread_detach(thread)
    }

    /// The same, with the result of `body`.
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async throws(SystemError) -> Value {
        let result = FirstValue<Value>()
        try start { result.resolve(body()) }
        return await result.value
    }
}
