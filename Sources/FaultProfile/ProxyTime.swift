import Units

/// An interval of the proxy's clock, which begins when the proxy starts.
public struct ClockWindow: Hashable, Sendable {
    /// The start. Zero or more.
    public var from: Duration
    /// The end, above `from`; `nil` is never.
    public var until: Duration?

    /// Makes a window; `until` is above `from`.
    public init(from: Duration = .zero, until: Duration? = nil) {
        self.from = from
        self.until = until
    }
}

/// A cycle of on and off times on the proxy's clock.
public struct DutyCycle: Hashable, Sendable {
    /// The on time. Above zero.
    public var on: Duration
    /// The off time after it. Above zero.
    public var off: Duration
    /// The start of the first on time, from the start of the clock. Zero or more.
    public var offset: Duration

    /// Makes a cycle; `on` and `off` are above zero.
    public init(on: Duration, off: Duration, offset: Duration = .zero) {
        self.on = on
        self.off = off
        self.offset = offset
    }
}

extension Condition {
    /// Whether only the proxy's clock matters.
    public var isOnClockAlone: Bool { after == nil && isForEverybody }

    /// Whether it applies to all connections alike: only the proxy's clock and other faults matter.
    public var isForEverybody: Bool {
        var rest = self
        rest.clock = nil
        rest.duty = nil
        rest.after = nil
        rest.proxies = []
        return rest == Condition()
    }
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
