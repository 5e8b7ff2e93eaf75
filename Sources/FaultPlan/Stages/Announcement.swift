/// Reports a fault to the journal once each time it comes on, unless the stream hasn't moved since.
///
/// A fault that goes off and on while the stream stands still acts on the same bytes as before.
struct Announcement {
    private var isReported = false
    /// The position at which the reported fault went off; −1 before.
    private var left: Int64 = -1

    /// Notes that the fault is off, with the stream at `position`.
    mutating func end(at position: Int64) {
        guard isReported else { return }
        isReported = false
        left = position
    }

    /// Notes that the fault acts on what waits at `position`; returns whether to report it.
    mutating func begin(at position: Int64) -> Bool {
        guard !isReported else { return false }
        isReported = true
        return position != left
    }
}
