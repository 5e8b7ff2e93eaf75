import NIOCore
import NIOPosix
import SystemPackage

/// A file that is open for reading, until nobody holds it and nothing reads from it any more. One read at a time; who
/// reads beside others has its own, see `reopened`.
final class OpenedFile: Sendable {
    let facts: FileFacts
    private let descriptor: SystemPackage.FileDescriptor
    private let handle: NIOFileHandle

    /// Takes over `descriptor`.
    init(_ descriptor: SystemPackage.FileDescriptor, _ facts: FileFacts) {
        self.facts = facts
        self.descriptor = descriptor
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor.rawValue)
    }

    deinit {
        // Nothing was written through it, so there is nothing that a failure could have lost.
        try? handle.close()
    }

    /// The same file once more, whatever has become of its name. Blocks.
    ///
    /// - Throws: `Errno` of open(2).
    func reopened() throws -> OpenedFile {
        let path = FilePath("/proc/self/fd/\(descriptor.rawValue)")
        return OpenedFile(try FileDescriptor.open(path, .readOnly, options: [.closeOnExec]), facts)
    }

    /// Reads `count` bytes at `offset` on a thread of the pool; fewer at the end of the file only.
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
        // The descriptor mustn't be closed, and its number given to another file, while a thread still reads from it.
        reading.whenComplete { _ in withExtendedLifetime(self) {} }
        return reading
    }

    /// Whether the content is still what it was when the file was opened. Doesn't touch the disk.
    func isUnchanged() -> Bool {
        guard let status = try? descriptor.stat() else { return false }
        return FileFacts.ContentState(status) == facts.contentState
    }
}
