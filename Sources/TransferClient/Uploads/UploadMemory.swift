import Crypto
import NIOCore
import TransferProtocol

/// The bytes of an upload that lie in memory. None of them is copied but those that a connection is about to take.
struct UploadMemory: Sendable {
    let bytes: [UInt8]
    /// The SHA-256 of the bytes: 32 bytes.
    let sha256: [UInt8]

    /// The bytes that are hashed between two looks at whether the task is cancelled: 8 MiB.
    private static let hashedAtOnce = 8 << 20

    /// Hashes the bytes.
    init(_ bytes: [UInt8], _ worker: FileWorker) async throws(UploadError) {
        self.bytes = bytes
        var hasher = SHA256()
        var offset = 0
        while offset < bytes.count {
            guard !Task.isCancelled else { throw .cancelled }
            let range = offset..<min(bytes.count, offset + Self.hashedAtOnce)
            hasher = try await UploadError.mapping { [hasher] () async throws(DownloadError) in
                try await worker.run { () throws(DownloadError) in
                    var hasher = hasher
                    hasher.update(data: bytes[range])
                    return hasher
                }
            }
            offset = range.upperBound
        }
        sha256 = Array(hasher.finalize())
    }

    /// The bytes of a range.
    func read(_ range: Range<Int64>) -> ByteBuffer {
        ByteBuffer(bytes: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }
}
