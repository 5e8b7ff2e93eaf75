import Foundation
import SimulatedDisk
import SystemPackage
import Testing

@testable import DurableFiles

/// Unnamed files.
@Suite struct AnonymousFileTests {
    /// Runs `body` with each way to make one, in a temporary folder.
    private func onEach(_ body: (any FileSystem, FilePath, any OpenFile) throws -> Void) throws {
        let disk = SimulatedDisk(seed: 1)
        try disk.makeFolder("/folder")
        try body(disk, "/folder", try disk.open("/folder", .anonymous))
        let files = SystemFiles()
        for open in [{ try files.open($0, .anonymous) }, { try files.openUnlinked(in: $0) }]
            as [(FilePath) throws -> any OpenFile]
        {
            let folder = FilePath(NSTemporaryDirectory()).appending("squall-files-\(UUID().uuidString)")
            try files.makeFolder(folder)
            defer { try? FileManager.default.removeItem(atPath: folder.string) }
            try body(files, folder, try open(folder))
        }
    }

    @Test func `a file without a name is written and read, and its folder is empty`() throws {
        try onEach { files, folder, file in
            #expect(try files.names(in: folder).isEmpty)
            try file.write([1, 2, 3], at: 1)
            #expect(try file.read(10, at: 0) == [0, 1, 2, 3])
            #expect(try file.size() == 4)
            #expect(try files.names(in: folder).isEmpty)
            file.close()
        }
    }

    @Test func `an anonymous file is accessible to its owner only, and gone when closed`() throws {
        try onEach { files, folder, file in
            guard files is SystemFiles else { return }
            func links() throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").map { "/proc/self/fd/" + $0 }
                    .filter { link in
                        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
                        return target?.hasPrefix(folder.string + "/") == true
                    }
            }
            let link = try #require(links().first)
            #expect(try FilePath(link).stat().permissions == [.ownerReadWrite])
            file.close()
            #expect(try links().isEmpty)
        }
    }

    @Test func `a folder that isn't there is an error`() throws {
        for files in [SystemFiles(), SimulatedDisk(seed: 1)] as [any FileSystem] {
            let error = #expect(throws: FileError.self) {
                try files.open(FilePath("/none-\(UUID().uuidString)"), .anonymous)
            }
            #expect(error?.errno == .noSuchFileOrDirectory)
        }
    }
}
