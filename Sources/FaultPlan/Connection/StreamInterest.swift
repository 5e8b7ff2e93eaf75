import FaultProfile

/// The positions that the faults of a connection ask for in its bytes.
public struct StreamInterest: Sendable {
    /// Whether the links need the boundaries of HTTP messages (`Link.note`), in both directions.
    public var messages = false
    /// Whether messages whose content begins inside its resource are noted, for whoever watches the transfers.
    public var resumptions = false
    /// Whether messages carry the targets of their requests.
    public var targets = false
    /// The names of the request fields that messages carry.
    public var fields: [String] = []
    /// The patterns to find in each direction, each with the index of its fault.
    public var patterns: [Direction: [(fault: Int, pattern: BytePattern)]] = [:]

    /// Nothing.
    public init() {}

    /// Whether no byte has to be read.
    public var isNone: Bool { !messages && patterns.isEmpty }

    /// The same, with the resumptions of transfers.
    public var withResumptions: StreamInterest {
        var interest = self
        interest.messages = true
        interest.resumptions = true
        return interest
    }

    /// Adds the parts of requests that `condition` compares.
    mutating func add(_ condition: HTTPCondition) {
        if condition.path != nil { targets = true }
        for field in condition.fields where !fields.contains(field.name) { fields.append(field.name) }
    }
}
