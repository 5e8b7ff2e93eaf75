/// The configuration of a queue.
public struct TransferQueueConfiguration: Sendable {
    /// The limits.
    public var limits = QueueLimits()
    /// The folder of the queue's log and of its unfinished uploads, created if missing. `nil`, the default, is
    /// `squall/queues/IDENTIFIER` in `$XDG_STATE_HOME`, or in `~/.local/state`.
    public var folder: String?
    /// The interfaces whose network is expensive, beside those of mobile broadband.
    public var expensiveInterfaces: Set<String> = []
    /// The interfaces whose network is constrained. Linux doesn't know any by itself.
    public var constrainedInterfaces: Set<String> = []
    /// Called with a line for each change, for a log. It has no URL and no secret.
    public var log: (@Sendable (String) -> Void)?

    /// Makes the default configuration.
    public init() {}
}
