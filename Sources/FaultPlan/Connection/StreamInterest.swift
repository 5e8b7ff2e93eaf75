import FaultProfile

/// What the faults of a connection have to know of its bytes.
public struct StreamInterest: Sendable {
    /// Whether the links are to be told of HTTP messages (`Link.note`), in both directions.
    public var messages = false
    /// Whether messages are to have the targets of their requests.
    public var targets = false
    /// The names of the fields of their requests that messages are to have.
    public var fields: [String] = []
    /// The patterns to look for in each direction, each for the fault of an index.
    public var patterns: [Direction: [(fault: Int, pattern: BytePattern)]] = [:]

    /// Nothing.
    public init() {}

    /// Whether nobody has to look at the bytes.
    public var isNone: Bool { !messages && patterns.isEmpty }

    /// Adds what has to be known of requests to tell whether they are picked by `condition`.
    mutating func add(_ condition: HTTPCondition) {
        if condition.path != nil { targets = true }
        for field in condition.fields where !fields.contains(field.name) { fields.append(field.name) }
    }
}
