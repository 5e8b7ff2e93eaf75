import Digests
import DurableFiles
import NIOCore
import SystemPackage
import TransferProtocol

/// A spooled stream in an unnamed file, which disappears with this value or the process.
final class SpooledContent: Sendable {
    let length: Int64
    /// The SHA-256 of the stream: 32 bytes.
    let sha256: [UInt8]
    private let file: any OpenFile
    private let folder: FilePath
    private let worker: FileWorker

    init(_ file: any OpenFile, in folder: FilePath, length: Int64, sha256: [UInt8], _ worker: FileWorker) {
        self.file = file
        self.folder = folder
        self.length = length
        self.sha256 = sha256
        self.worker = worker
    }

    deinit { file.close() }

    /// The bytes of a range.
    func read(_ range: Range<Int64>) async throws(TransferError) -> ByteBuffer {
        let bytes = try await worker.run { [file] in try file.read(range.count, at: range.lowerBound) }
        // The file is private, so a short read is a disk error.
        guard bytes.count == range.count else { throw .fileSystem(call: "pread", path: folder.string, .ioError) }
        return ByteBuffer(bytes: bytes)
    }
}
