import NIOCore
import NIOPosix
import SystemPackage

/// Reads files on the threads of a pool.
struct FileReader {
    let pool: NIOThreadPool

    private static let longestRead: Int64 = 1 << 20

    /// The size of a file in bytes.
    func size(_ path: FilePath) async throws(DownloadError) -> Int64 {
        try await FileWorker(pool: pool).run { () throws(DownloadError) in
            try FileCall.run("stat", path) { try path.stat().size }
        }
    }

    /// Hands the bytes of a range to `body`, a piece of 1 MiB at most at a time; stops early where the file ends.
    func read(_ path: FilePath, _ range: Range<Int64>, _ body: ([UInt8]) -> Void) async throws(DownloadError) {
        do {
            let files = NonBlockingFileIO(threadPool: pool)
            try await files.withFileHandle(_deprecatedPath: path.string, mode: .read) { handle in
                var offset = range.lowerBound
                while offset < range.upperBound {
                    let count = min(Self.longestRead, range.upperBound - offset)
                    let buffer = try await files.read(
                        fileHandle: handle,
                        fromOffset: offset,
                        byteCount: Int(count),
                        allocator: ByteBufferAllocator()
                    )
                    guard buffer.readableBytes > 0 else { return }
                    body(Array(buffer.readableBytesView))
                    offset += Int64(buffer.readableBytes)
                }
            }
        } catch is CancellationError {
            throw .cancelled
        } catch let error as IOError {
            throw .fileSystem(call: "read", path: path.string, Errno(rawValue: error.errnoCode))
        } catch {
            throw .fileSystem(call: "read", path: path.string, .ioError)
        }
    }
}
