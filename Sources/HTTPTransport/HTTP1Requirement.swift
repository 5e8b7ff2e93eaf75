import Synchronization

/// Whether a server has ended a stream with HTTP_1_1_REQUIRED (RFC 9113, section 7). Kept for one transfer, whose next
/// connections don't offer HTTP/2 then.
public final class HTTP1Requirement: Sendable {
    private let isMade = Atomic<Bool>(false)

    /// Makes one that nothing is known of.
    public init() {}

    /// Whether connections must be of HTTP/1.1.
    public var isRequired: Bool { isMade.load(ordering: .relaxed) }

    /// Learns from the error of an exchange; any error will do.
    public func note(_ error: any Error) {
        if HTTP2Failure(error)?.kind == .http1Required { isMade.store(true, ordering: .relaxed) }
    }
}
