/// The first value that `value` has within two minutes, `nil` if it has none. It is asked each millisecond, not all the time:
/// what it waits for needs the processor.
package func eventualValue<Value>(_ value: () async throws -> Value?) async rethrows -> Value? {
    let end = ContinuousClock.now + .seconds(120)
    while true {
        if let value = try await value() { return value }
        guard ContinuousClock.now < end, (try? await Task.sleep(for: .milliseconds(1))) != nil else { return nil }
    }
}

/// Whether `condition` holds within two minutes, see `eventualValue`.
package func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    try await eventualValue { try await condition() ? true : nil } ?? false
}
