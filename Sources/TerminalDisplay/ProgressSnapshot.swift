import Units

/// A snapshot of a transfer for display.
package struct ProgressSnapshot: Hashable {
    /// Why a transfer is paused.
    package enum Pause: Hashable {
        /// The next attempt follows after this time.
        case waiting(Duration, reason: String)
        /// The next attempt has started without progress yet.
        case trying(reason: String)
        /// The machine has no route to the server.
        case withoutNetwork
    }

    /// The bytes transferred.
    package var bytes: Int64
    /// The total size; `nil` until known.
    package var total: Int64?
    /// The recent rate in bytes per second; `nil` until known.
    package var rate: Double?
    /// The number of resumptions.
    package var resumptions = 0
    /// Their offsets; empty if there are more than `ProgressTracker.maximumMarks`.
    package var marks: [Int64] = []
    /// The reason of a pause, if known.
    package var pause: Pause?
}

extension ProgressSnapshot {
    /// The state before the first byte.
    package init() { self.init(bytes: 0) }
}
