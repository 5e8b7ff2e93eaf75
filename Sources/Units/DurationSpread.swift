/// A duration and how far a draw may deviate from it: "200 ms ± 50 ms".
public struct DurationSpread: Hashable, Sendable {
    /// The duration in the middle. Zero or more.
    public var middle: Duration
    /// The deviation to both sides, zero or more; `nil` if none is given.
    public var deviation: Duration?

    /// Makes a spread; both durations are zero or more.
    public init(_ middle: Duration, deviation: Duration? = nil) {
        self.middle = middle
        self.deviation = deviation
    }

    /// Reads a duration, and its deviation after "±" or "+-": "200 ms", "200ms±50ms", "200 ms +- 50 ms".
    ///
    /// Throws what `Duration(parsing:)` throws for either of them.
    public init(parsing text: String) throws(UnitError) {
        guard let sign = DurationSpread.sign(in: text) else {
            self.init(try Duration(parsing: text))
            return
        }
        var middle = text[..<sign.lowerBound]
        while middle.last == " " { middle.removeLast() }
        let deviation = text[sign.upperBound...].drop { $0 == " " }
        self.init(
            try Duration(parsing: String(middle)),
            deviation: try Duration(parsing: String(deviation))
        )
    }

    /// The spread as people write it: "200 ms ± 50 ms". `DurationSpread(parsing:)` reads it back to the same value.
    public var text: String { middle.text + (deviation.map { " ± \($0.text)" } ?? "") }

    private static func sign(in text: String) -> Range<String.Index>? {
        text.firstRange(of: "±") ?? text.firstRange(of: "+-")
    }
}
