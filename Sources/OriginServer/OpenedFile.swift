import NIOCore
import NIOPosix
import SystemPackage

/// A file open for reading, closed when it is released and no read is in progress. One read at a time; use `reopened`
/// for concurrent reads.
final class OpenedFile: Sendable {
    let metadata: FileMetadata
    private let descriptor: SystemPackage.FileDescriptor
    private let handle: NIOFileHandle

    /// Takes over `descriptor`.
    init(_ descriptor: SystemPackage.FileDescriptor, _ metadata: FileMetadata) {
        self.metadata = metadata
        self.descriptor = descriptor
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor.rawValue)
    }

    deinit {
        // Opened only for reading, so close can't lose writes.
        try? handle.close()
    }

    /// Opens the same file again, even if its name has changed. Blocks.
    ///
    /// - Throws: `Errno` of open(2).
    func reopened() throws -> OpenedFile {
        let path = FilePath("/proc/self/fd/\(descriptor.rawValue)")
        return OpenedFile(try FileDescriptor.open(path, .readOnly, options: [.closeOnExec]), metadata)
    }

    /// Reads `count` bytes at `offset` on the thread pool; fewer only at the end of the file.
    func read(
        at offset: Int64,
        count: Int,
        with fileIO: NonBlockingFileIO,
        on eventLoop: any EventLoop
    ) -> EventLoopFuture<ByteBuffer> {
        let reading = fileIO.read(
            fileHandle: handle,
            fromOffset: offset,
            byteCount: count,
            allocator: ByteBufferAllocator(),
            eventLoop: eventLoop
        )
        // Keeps the descriptor open while a thread reads from it; its number could be reused otherwise.
        reading.whenComplete { _ in withExtendedLifetime(self) {} }
        return reading
    }

    /// Whether the content is unchanged since the file was opened. Doesn't read the disk.
    func isUnchanged() -> Bool {
        guard let status = try? descriptor.stat() else { return false }
        return FileMetadata.ContentState(status) == metadata.contentState
    }
}
