import Crypto
import HTTPSemantics
import TransferProtocol

/// The digest of the content of one request, which counts only when all of it has come and has that digest (`Content-Digest`, RFC
/// 9530, section 2).
struct ContentCheck {
    private let expected: ReprDigest
    private var hasher = SHA256()

    /// Makes the check of a request that names a digest, where the server looks at it.
    init?(_ expected: ReprDigest?, _ policy: UploadPolicy) {
        guard let expected, policy.checksContentDigest else { return nil }
        self.expected = expected
    }

    /// Content has come, and was written.
    mutating func update(_ bytes: [UInt8]) { hasher.update(data: bytes) }

    /// Whether the digest of the content equals the announced one.
    var isPassed: Bool { Array(hasher.finalize()) == expected.sha256 }
}

extension UploadMachine {
    /// A request is over before its content was: what came is kept, unless it had to come as a whole.
    mutating func leave(_ old: Transfer) {
        transfer = nil
        if old.check == nil { leftover = old.pending } else { discard() }
    }

    /// Takes back what was received since the last checkpoint.
    mutating func discard() {
        isBroken = true
        received = promised
    }
}
