import Foundation
import NIOPosix
import SystemPackage
import Testing

@testable import OriginServer

/// A file read through its descriptor, even if its name changes.
@Suite struct OpenedFileTests {
    @Test(arguments: [true, false])
    func `a file that was opened once more is the same one, also when its name is another's`(isReplaced: Bool)
        async throws
    {
        let path = FilePath(NSTemporaryDirectory()).appending("squall-opened-\(UUID().uuidString)")
        let url = URL(fileURLWithPath: path.string)
        try Data([1, 2, 3]).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let descriptor = try FileDescriptor.open(path, .readOnly)
        let opened = OpenedFile(descriptor, FileMetadata(try descriptor.stat(), fileName: "a"))
        try FileManager.default.removeItem(at: url)
        if isReplaced { try Data([4, 5, 6]).write(to: url) }
        let again = try opened.reopened()
        let group = MultiThreadedEventLoopGroup.singleton
        let fileIO = NonBlockingFileIO(threadPool: .singleton)
        let bytes = try await again.read(at: 0, count: 3, with: fileIO, on: group.any()).get()
        #expect(Array(bytes.readableBytesView) == [1, 2, 3])
        #expect(again.isUnchanged())
    }
}
