import Units

extension Trigger {
    static let age = Trigger(
        .optional("age", \.age, .window("age", "an"), fallback: "at every age"),
        "age of the connection: from, between, until",
        .ages
    ) { $0.age?.sentence("from an age of ", "", "up to an age of ") ?? "" }

    static let clock = Trigger(
        .optional("clock", \.clock, .window("time", "a").described("as `age`"), fallback: "at all times"),
        "the time since the proxy's clock started",
        .times
    ) { $0.clock?.sentence("from ", " on", "until ") ?? "" }
}

extension Condition {
    /// `ageFrom` and `ageUntil` as one interval; `nil` where every age is in it.
    fileprivate var age: ClockWindow? {
        get { ageFrom > .zero || ageUntil != nil ? ClockWindow(from: ageFrom, until: ageUntil) : nil }
        set { (ageFrom, ageUntil) = (newValue?.from ?? .zero, newValue?.until) }
    }
}

/// An interval of the proxy's clock, which begins when the proxy starts.
public struct ClockWindow: Hashable, Sendable {
    /// The start. Zero or more.
    public var from: Duration = .zero
    /// The end, above `from`; `nil` is never.
    public var until: Duration?
}

extension ClockWindow {
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

    static let remedy = "write “5 s” (from then on), “5 s..10 s” or “..10 s”"

    /// The interval as people write it: "5 s", "5 s..10 s", "..10 s". `ClockWindow(parsing:)` reads it back to the same
    /// value.
    public var text: String {
        guard let until else { return from.text }
        return from > .zero ? "\(from.text)..\(until.text)" : "..\(until.text)"
    }

    /// "from 5 s on, until 10 s".
    fileprivate func sentence(_ before: String, _ behind: String, _ last: String) -> String {
        let start = from > .zero || until == nil ? before + from.text + behind : nil
        return [start, until.map { last + $0.text }].compactMap(\.self).joined(separator: ", ")
    }
}

extension Form<ClockWindow> {
    /// An interval of time, whose ends are called `noun`: `"5 s"`, `"5 s..10 s"`, `"..10 s"`.
    fileprivate static func window(_ noun: String, _ article: String) -> Form {
        measure(
            .age,
            "5 s..10 s",
            remedy: ClockWindow.remedy,
            { text throws(UnitError) in try ClockWindow(parsing: text, noun: noun, article: article) },
            text: \.text
        )
    }
}

extension ProfileDecoder {
    /// What stands before and after the first "..".
    static func rangeEnds(of text: String) -> (first: String, last: String)? {
        let scalars = text.unicodeScalars
        guard let dots = scalars.firstRange(of: "..".unicodeScalars) else { return nil }
        return (String(scalars[..<dots.lowerBound]), String(scalars[dots.upperBound...]))
    }
}
