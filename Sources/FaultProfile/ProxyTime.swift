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

    /// Reads an interval: "5 s" or "5 s.." (from then on), "5 s..10 s" or "..10 s".
    ///
    /// Throws for anything else, and for one that ends where it begins, or before.
    public init(parsing text: String) throws(UnitError) {
        try self.init(parsing: text, noun: "time", article: "a")
    }

    /// Reads an interval whose ends are called `noun` in errors.
    init(parsing text: String, noun: String, article: String) throws(UnitError) {
        let (first, last) = ProfileDecoder.rangeEnds(of: text) ?? (text, "")
        let isTooLong = text.unicodeScalars.count > ProfileLimits.valueLength
        if isTooLong || (first.isEmpty && last.isEmpty) {
            throw UnitError(problem: "\(text.quoted) is not \(article) \(noun)", remedy: ClockWindow.remedy)
        }
        self.init()
        if !first.isEmpty { from = try Duration(parsing: first) }
        if !last.isEmpty { until = try Duration(parsing: last) }
        if let until, until <= from {
            throw UnitError(
                problem: "the \(noun) \(text.quoted) ends where it begins, or before",
                remedy: "write the smaller \(noun) first"
            )
        }
    }

    /// How to write an interval.
    static let remedy = "write “5 s” (from then on), “5 s..10 s” or “..10 s”"

    /// The interval as people write it: "5 s", "5 s..10 s", "..10 s". `ClockWindow(parsing:)` reads it back to the same
    /// value.
    public var text: String {
        guard let until else { return from.text }
        return from > .zero ? "\(from.text)..\(until.text)" : "..\(until.text)"
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
