/// Runs `body` with `subject`, and `end` after it, also when `body` throws.
package func ending<Subject, Value>(
    _ subject: Subject,
    after body: (Subject) async throws -> Value,
    by end: () async throws -> Void
) async throws -> Value {
    let value: Value
    do {
        value = try await body(subject)
    } catch {
        // The first error is the one to tell.
        try? await end()
        throw error
    }
    try await end()
    return value
}
