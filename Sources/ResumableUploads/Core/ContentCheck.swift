import Digests
import HTTPSemantics
import TransferProtocol

/// Verifies the `Content-Digest` of one request (RFC 9530, section 2): its content counts only when it is complete and
/// matches.
struct ContentCheck {
    private let expected: ReprDigest
    private var hasher = SHA256()

    /// Makes the check for a request with a digest, if the policy asks for it.
    init?(_ expected: ReprDigest?, _ policy: UploadPolicy) {
        guard let expected, policy.checksContentDigest else { return nil }
        self.expected = expected
    }

    /// Content arrived and was written.
    mutating func update(_ bytes: [UInt8]) { hasher.update(bytes) }

    /// Whether the content matches its digest.
    var isPassed: Bool { hasher.finalize() == expected.sha256 }
}

extension UploadStateMachine {
    /// A request ended before its content did: keeps what arrived, unless the content had to be complete.
    mutating func detach(_ old: Transfer) {
        transfer = nil
        if old.check == nil { remainingContent = old.pending } else { discard() }
    }

    /// Discards what was received since the last checkpoint.
    mutating func discard() {
        needsRestore = true
        received = acknowledged
    }
}
