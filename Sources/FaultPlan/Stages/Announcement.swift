/// Whether the journal is told that a fault has come on: once for each time that it meets bytes which moved meanwhile.
///
/// A fault that goes off and comes on again, while the stream stands still, acts on the bytes that it has acted on
/// before.
struct Announcement {
    private var isTold = false
    /// How far the stream had come when the fault went off after it had been told; −1 before.
    private var left: Int64 = -1

    /// The fault is off, with the stream at `position`.
    mutating func end(at position: Int64) {
        guard isTold else { return }
        isTold = false
        left = position
    }

    /// The fault acts on what waits behind `position`; returns whether the journal is to be told.
    mutating func begin(at position: Int64) -> Bool {
        guard !isTold else { return false }
        isTold = true
        return position != left
    }
}
