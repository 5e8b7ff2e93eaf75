import Digests
import NIOCore
import TransferProtocol

/// Upload content in memory. Only the bytes about to be sent are copied.
struct InMemoryContent: Sendable {
    let bytes: [UInt8]
    /// The SHA-256 of the bytes: 32 bytes.
    let sha256: [UInt8]

    /// The number of bytes hashed between checks for cancellation: 8 MiB.
    private static let hashedAtOnce = 8 << 20

    /// Hashes the bytes.
    init(_ bytes: [UInt8], _ worker: FileWorker) async throws(TransferError) {
        self.bytes = bytes
        var hasher = SHA256()
        var offset = 0
        while offset < bytes.count {
            guard !Task.isCancelled else { throw .cancelled }
            let range = offset..<min(bytes.count, offset + Self.hashedAtOnce)
            hasher = try await worker.run { [hasher] in
                var hasher = hasher
                hasher.update(bytes[range])
                return hasher
            }
            offset = range.upperBound
        }
        sha256 = hasher.finalize()
    }

    /// The bytes of a range.
    func read(_ range: Range<Int64>) -> ByteBuffer {
        ByteBuffer(bytes: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}
