import Units

/// The state of a transfer at one moment, as a person is shown it.
struct ProgressSnapshot: Hashable {
    /// Why nothing moves.
    enum Pause: Hashable {
        /// The next attempt is in this time.
        case waiting(Duration, reason: String)
        /// The next attempt has begun, and has brought nothing yet.
        case trying(reason: String)
        /// The machine has no route to the server.
        case withoutNetwork
    }

    /// The bytes that are there.
    var bytes: Int64 = 0
    /// The bytes of the whole; `nil` as long as nobody knows.
    var total: Int64?
    /// The bytes a second of the last seconds; `nil` as long as there is none.
    var rate: Double?
    /// The times that the transfer went on at an offset.
    var resumptions = 0
    /// The offsets at which it did; none where they are more than `ProgressTracker.mostMarks`.
    var marks: [Int64] = []
    /// Set while nothing moves, as far as the reason is known.
    var pause: Pause?
}
