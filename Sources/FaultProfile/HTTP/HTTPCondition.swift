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
    /// Fields of the request that must be there with such a value. Names are compared without letter case.
    public var fields: [FieldPattern]
    /// The status of the response; `nil` is any.
    public var status: StatusSelection?
    /// The number of the request on its connection, from 1.
    public var requests: ConnectionSelection
    /// The chance that the fault acts on a request and its response, drawn once for each from the seed.
    public var chance: Probability

    /// A field by its name, and what its value must be like.
    public struct FieldPattern: Hashable, Sendable {
        /// The field's name.
        public var name: String
        /// What one of its values must be like.
        public var value: TextPattern

        /// Makes a pattern of a field.
        public init(name: String, value: TextPattern) {
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

/// A text in which `*` stands for any characters, or none.
public struct TextPattern: Hashable, Sendable {
    /// The pattern as it stands in the profile.
    public var text: String

    /// Makes a pattern.
    public init(_ text: String) {
        self.text = text
    }

    /// Whether `candidate` is like the pattern from its first character to its last; takes time in proportion to
    /// the product of their lengths at most.
    public func matches(_ candidate: String) -> Bool { matches(candidate.utf8.span) }

    /// Whether the UTF-8 of a text is like the pattern, in the same way.
    public func matches(_ candidate: Span<UInt8>) -> Bool {
        let pattern = text.utf8.span
        let star = UInt8(ascii: "*")
        var (index, position) = (0, 0)
        // Where the last star stands, and up to where it has been taken to reach.
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

    /// Makes a selection.
    public init(_ range: ClosedRange<Int>) {
        self.range = range
    }

    /// As a profile has it: `503`, `5xx`, `500..504`.
    public var text: String {
        let (low, high) = (range.lowerBound, range.upperBound)
        if low == high { return String(low) }
        if low.isMultiple(of: 100), high == low + 99 { return "\(low / 100)xx" }
        return "\(low)..\(high)"
    }
}
