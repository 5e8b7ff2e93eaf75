import Units

extension Trigger {
    static let duty = Trigger(
        .optional("duty", \.duty, .object(.duty, DutyCycle.table), fallback: "always on"),
        "on and off in turn, on the proxy's clock",
        .times
    ) { $0.duty.map { "\($0.on.text) on and \($0.off.text) off" } ?? "" }
}

/// A cycle of on and off times on the proxy's clock.
public struct DutyCycle: Hashable, Sendable {
    /// The on time. Above zero.
    public var on: Duration
    /// The off time after it. Above zero.
    public var off: Duration
    /// The start of the first on time, from the start of the clock. Zero or more.
    public var offset: Duration = .zero
}

extension DutyCycle {
    static let table = ObjectTable(
        DutyCycle(on: .zero, off: .zero),
        title: "“duty”",
        definition: "duty",
        texts: """
            on: how long the fault is on
            off: how long it is off then
            offset: when it is first on, on the proxy's clock; off before
            """,
        [
            .required("on", \.on, .period), .required("off", \.off, .period),
            .optional("offset", \.offset, .duration, default: .zero),
        ]
    )
}
