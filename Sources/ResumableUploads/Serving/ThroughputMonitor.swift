import NIOCore

/// Enforces a minimum rate of request content. Only time in which the server waits for the client counts.
///
/// A value: time is an argument.
package struct ThroughputMonitor: Hashable {
    private let window: TimeAmount
    private let bytesOfWindow: Int
    /// The waiting time and bytes of the current window.
    private var waited = TimeAmount.zero
    private var bytes = 0
    private var waitingSince: NIODeadline?

    /// Makes a rule of `rate` bytes per second on average over each `window` of waiting time.
    package init(rate: Int, window: TimeAmount) {
        self.window = window
        bytesOfWindow = Int((Double(rate) * Double(window.nanoseconds) / 1e9).rounded())
    }

    /// The server starts waiting for content.
    package mutating func waitBegan(at now: NIODeadline) {
        if waitingSince == nil { waitingSince = now }
    }

    /// Content arrived, so the server stops waiting.
    package mutating func bytesArrived(_ count: Int, at now: NIODeadline) {
        bytes += count
        if let since = waitingSince { waited = waited + (now - since) }
        waitingSince = nil
    }

    /// When to check next; `nil` while the server isn't waiting.
    package var deadline: NIODeadline? { waitingSince.map { $0 + (window - waited) } }

    /// Whether the client was too slow in a window that ends `now`. Starts the next window.
    package mutating func isTooSlow(at now: NIODeadline) -> Bool {
        guard let deadline, deadline <= now else { return false }
        defer {
            waitingSince = now
            waited = .zero
            bytes = 0
        }
        return bytes < bytesOfWindow
    }
}
