import Units

/// `when.http`: which HTTP messages a fault acts on. Everything given must hold.
///
/// A condition that names a status holds for responses only. One that doesn't holds for requests, and for the final
/// responses to them; informational responses (1xx) are for conditions that name them.
public struct HTTPCondition: Hashable, Sendable {
    /// The method of the request, letter case included; `nil` is any.
    public var method: String?
    /// The path of the request's target; with a “?” in the pattern, the path and the query. `nil` is any.
    public var path: TextPattern?
    /// Required fields of the request with patterns for their values. Names ignore case.
    public var fields: [FieldPattern]
    /// The status of the response; `nil` is any.
    public var status: StatusSelection?
    /// The number of the request on its connection, from 1.
    public var requests: ConnectionSelection
    /// The chance that the fault acts on a request and its response, drawn once for each from the seed.
    public var chance: Probability

    /// A pattern for the value of a field.
    public struct FieldPattern: Hashable, Sendable {
        /// The field's name.
        public var name: String
        /// The pattern that one of the values must match.
        public var value: TextPattern

        package init(name: String, value: TextPattern) {
            self.name = name
            self.value = value
        }
    }

    /// Makes a condition; without arguments it holds for every message.
    public init(
        method: String? = nil,
        path: TextPattern? = nil,
        fields: [FieldPattern] = [],
        status: StatusSelection? = nil,
        requests: ConnectionSelection = .all,
        chance: Probability = .always
    ) {
        self.method = method
        self.path = path
        self.fields = fields
        self.status = status
        self.requests = requests
        self.chance = chance
    }
}

/// A text pattern in which `*` matches any characters, or none.
public struct TextPattern: Hashable, Sendable {
    /// The pattern as in the profile.
    public var text: String

    package init(_ text: String) {
        self.text = text
    }

    /// Whether the whole of `candidate` matches; takes at most time proportional to the product of the lengths.
    public func matches(_ candidate: String) -> Bool { matches(candidate.utf8.span) }

    /// The same for the UTF-8 of a text.
    public func matches(_ candidate: Span<UInt8>) -> Bool {
        let pattern = text.utf8.span
        let star = UInt8(ascii: "*")
        var (index, position) = (0, 0)
        // The last star, and the end of its match so far.
        var retry: (index: Int, position: Int)?
        while position < candidate.count {
            if index < pattern.count, pattern[index] == star {
                retry = (index, position)
                index += 1
            } else if index < pattern.count, pattern[index] == candidate[position] {
                index += 1
                position += 1
            } else if let (starIndex, reached) = retry {
                retry = (starIndex, reached + 1)
                index = starIndex + 1
                position = reached + 1
            } else {
                return false
            }
        }
        while index < pattern.count, pattern[index] == star { index += 1 }
        return index == pattern.count
    }
}

/// Status codes of HTTP responses: one, or a range.
public struct StatusSelection: Hashable, Sendable {
    /// The codes, from 100 to 599.
    public var range: ClosedRange<Int>

    package init(_ range: ClosedRange<Int>) {
        self.range = range
    }

    /// The text in a profile: `503`, `5xx`, `500..504`.
    public var text: String {
        let (low, high) = (range.lowerBound, range.upperBound)
        if low == high { return String(low) }
        if low.isMultiple(of: 100), high == low + 99 { return "\(low / 100)xx" }
        return "\(low)..\(high)"
    }
}
