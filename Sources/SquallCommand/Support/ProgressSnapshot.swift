import Units

/// A snapshot of a transfer for display.
struct ProgressSnapshot: Hashable {
    /// Why a transfer is paused.
    enum Pause: Hashable {
        /// The next attempt follows after this time.
        case waiting(Duration, reason: String)
        /// The next attempt has started without progress yet.
        case trying(reason: String)
        /// The machine has no route to the server.
        case withoutNetwork
    }

    /// The bytes transferred.
    var bytes: Int64 = 0
    /// The total size; `nil` until known.
    var total: Int64?
    /// The recent rate in bytes per second; `nil` until known.
    var rate: Double?
    /// The number of resumptions.
    var resumptions = 0
    /// Their offsets; empty if there are more than `ProgressTracker.maximumMarks`.
    var marks: [Int64] = []
    /// The reason of a pause, if known.
    var pause: Pause?
}
