import Synchronization

/// Whether a server has reset a stream with HTTP_1_1_REQUIRED (RFC 9113, section 7). Shared by the connections of one
/// transfer: later ones don't offer HTTP/2.
public final class ProtocolFallback: Sendable {
    private let isMade = Atomic<Bool>(false)

    /// Makes a value that requires nothing yet.
    public init() {}

    /// Whether connections must use HTTP/1.1.
    public var isRequired: Bool { isMade.load(ordering: .relaxed) }

    /// Records the error of an attempt; any error is accepted.
    public func note(_ error: any Error) {
        if HTTP2Failure(error)?.kind == .http1Required { isMade.store(true, ordering: .relaxed) }
    }
}
