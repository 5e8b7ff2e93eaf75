import Digests
import DurableFiles
import NIOCore
import NIOPosix
import SystemPackage
import TransferProtocol

/// The open file of an upload, read through its descriptor even if its name changes.
final class UploadSourceFile: Sendable {
    let path: FilePath
    /// The path with all links resolved.
    let canonicalPath: String
    /// The identity of the file when it was opened.
    let identity: UploadSource
    private let descriptor: SystemPackage.FileDescriptor
    private let handle: NIOFileHandle
    private let files: NonBlockingFileIO

    /// The maximum size of a read.
    static let maximumReadSize = 256 << 10

    deinit {
        // Nothing was written through it.
        try? handle.close()
    }

    /// Opens a regular file for reading.
    init(_ path: FilePath, _ worker: FileWorker) async throws(TransferError) {
        let descriptor = try await worker.run {
            try FileError.naming("open", path) {
                // Non-blocking, so that opening a FIFO without a writer returns; it is then refused.
                try SystemPackage.FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .nonBlocking])
            }
        }
        files = worker.files
        do {
            let status = try FileError.naming("fstat", path) { try descriptor.stat() }
            try Self.check(status.type, path)
            guard status.size <= UploadFields.largest else {
                throw TransferError.invalidFile(path.string, "it is longer than \(UploadFields.largest) bytes")
            }
            identity = UploadSource(status)
            canonicalPath = try await files.readlink(path: "/proc/self/fd/\(descriptor.rawValue)")
        } catch {
            try? descriptor.close()
            if let error = error as? TransferError { throw error }
            if let error = error as? FileError { throw TransferError(error) }
            if error is CancellationError { throw .cancelled }
            throw .fileSystem(call: "readlink", path: path.string, Errno(of: error))
        }
        self.path = path
        self.descriptor = descriptor
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor.rawValue)
    }

    /// Throws when there is no regular file at a path.
    static func check(_ path: FilePath) throws(TransferError) {
        let type: FileType
        do throws(Errno) {
            type = try path.stat().type
        } catch {
            throw .fileSystem(call: "stat", path: path.string, error)
        }
        try check(type, path)
    }

    private static func check(_ type: FileType, _ path: FilePath) throws(TransferError) {
        guard type == .regular else { throw .invalidFile(path.string, "it is no regular file") }
    }

    /// Throws when the file has changed since it was opened.
    func checkUnchanged() throws(TransferError) {
        guard let status = try? descriptor.stat(), UploadSource(status) == identity else {
            throw .sourceChanged(path.string)
        }
    }

    /// The bytes of `range`, at most `maximumReadSize`. Throws when the file is shorter.
    func read(_ range: Range<Int64>) async throws(TransferError) -> ByteBuffer {
        let count = Int(min(range.upperBound - range.lowerBound, Int64(Self.maximumReadSize)))
        let buffer: ByteBuffer
        do {
            buffer = try await files.read(
                fileHandle: handle,
                fromOffset: range.lowerBound,
                byteCount: count,
                allocator: ByteBufferAllocator()
            )
        } catch is CancellationError {
            throw .cancelled
        } catch {
            throw .fileSystem(call: "read", path: path.string, Errno(of: error))
        }
        guard buffer.readableBytes == count else { throw .sourceChanged(path.string) }
        return buffer
    }

    /// The SHA-256 of the file: 32 bytes.
    func sha256() async throws(TransferError) -> [UInt8] {
        var hasher = SHA256()
        var offset: Int64 = 0
        while offset < identity.length {
            guard !Task.isCancelled else { throw .cancelled }
            let buffer = try await read(offset..<identity.length)
            hasher.update(buffer.readableBytesView)
            offset += Int64(buffer.readableBytes)
        }
        try checkUnchanged()
        return hasher.finalize()
    }
}

extension UploadSource {
    fileprivate init(_ status: Stat) {
        func nanoseconds(_ seconds: Int, _ rest: Int) -> Int64 { Int64(seconds) &* 1_000_000_000 &+ Int64(rest) }
        self.init(
            length: status.size,
            device: UInt64(truncatingIfNeeded: status.deviceID.rawValue),
            inode: UInt64(truncatingIfNeeded: status.inode.rawValue),
            modified: nanoseconds(status.st_mtim.tv_sec, status.st_mtim.tv_nsec),
            changed: nanoseconds(status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
        )
    }
}
