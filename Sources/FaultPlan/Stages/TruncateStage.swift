import FaultProfile
import Units

/// Bytes that vanish from a stream at an offset.
struct TruncateStage {
    /// The offset at which bytes vanish; `Int64.max` when all of them have.
    private(set) var next: Int64
    private var remaining: Int64
    private var hasStruck = false

    init(_ truncate: Truncate) {
        next = truncate.at.bytes
        remaining = truncate.bytes.bytes
    }

    /// How many of the `available` bytes vanish, and whether they are the first.
    mutating func strike(available: Int64) -> (count: Int64, isFirst: Bool) {
        let count = min(remaining, available)
        let isFirst = !hasStruck
        hasStruck = true
        remaining -= count
        if remaining == 0 { next = .max }
        return (count, isFirst)
    }

    /// The fault was off when its bytes came: it is over.
    mutating func miss() {
        next = .max
    }
}
