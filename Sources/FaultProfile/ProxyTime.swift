import Units

/// A interval of the proxy's clock, which begins when the proxy starts.
public struct ClockWindow: Hashable, Sendable {
    /// The time since the start at which it begins. Zero or more.
    public var from: Duration
    /// The time since the start at which it ends; `nil` is never. Above `from`.
    public var until: Duration?

    /// Makes a window; `until` is above `from`.
    public init(from: Duration = .zero, until: Duration? = nil) {
        self.from = from
        self.until = until
    }
}

/// On for a time and off for a time, again and again, on the proxy's clock.
public struct DutyCycle: Hashable, Sendable {
    /// How long it is on. Above zero.
    public var on: Duration
    /// How long it is off then. Above zero.
    public var off: Duration
    /// The time since the start of the clock at which it is on for the first time. Zero or more.
    public var offset: Duration

    /// Makes a cycle; `on` and `off` are above zero.
    public init(on: Duration, off: Duration, offset: Duration = .zero) {
        self.on = on
        self.off = off
        self.offset = offset
    }
}

extension Condition {
    /// Whether the proxy's clock alone decides, if anything does: for all connections alike, at every age.
    public var isOnClockAlone: Bool { after == nil && isForEverybody }

    /// Whether it applies to all connections alike: only the proxy's clock and other faults decide.
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
