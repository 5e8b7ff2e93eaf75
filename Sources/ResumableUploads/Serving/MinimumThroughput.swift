import NIOCore

/// Whether a client sends fast enough: the time counts in which the server waits for it, and no other.
///
/// A value: time is an argument.
package struct MinimumThroughput: Hashable {
    private let window: TimeAmount
    private let bytesOfWindow: Int
    /// The waiting time and the bytes of the current window.
    private var waited = TimeAmount.zero
    private var bytes = 0
    private var waitingSince: NIODeadline?

    /// Makes the rule that `rate` bytes a second arrive on average over each `window` of waiting.
    package init(rate: Int, window: TimeAmount) {
        self.window = window
        bytesOfWindow = Int((Double(rate) * Double(window.nanoseconds) / 1e9).rounded())
    }

    /// The server waits for content from now on.
    package mutating func waitBegan(at now: NIODeadline) {
        if waitingSince == nil { waitingSince = now }
    }

    /// The server has content, and waits no more.
    package mutating func bytesArrived(_ count: Int, at now: NIODeadline) {
        bytes += count
        if let since = waitingSince { waited = waited + (now - since) }
        waitingSince = nil
    }

    /// When to look next; `nil` while the server doesn't wait.
    package var deadline: NIODeadline? { waitingSince.map { $0 + (window - waited) } }

    /// It is `now`: whether the client has been too slow. A window that is over makes room for the next.
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
