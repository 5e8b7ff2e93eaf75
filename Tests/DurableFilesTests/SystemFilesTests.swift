import DurableFiles
import Foundation
import SimulatedDisk
import SystemPackage
import Testing

/// The same claims about the real and the simulated file system.
@Suite struct SystemFilesTests {
    /// Runs `body` with either file system, in a temporary folder.
    private func onBoth(_ body: (any FileSystem, FilePath) throws -> Void) throws {
        let disk = SimulatedDisk(seed: 1)
        try disk.makeFolder("/folder")
        try body(disk, "/folder")
        let folder = FilePath(NSTemporaryDirectory()).appending("squall-files-\(UUID().uuidString)")
        let files = SystemFiles()
        try files.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder.string) }
        try body(files, folder)
    }

    private func errno(_ body: () throws -> Void) -> Errno? {
        do {
            try body()
            return nil
        } catch {
            return (error as? FileError)?.errno
        }
    }

    @Test func `a file is written at offsets, read, cut off and synchronized`() throws {
        try onBoth { files, folder in
            let file = try files.open(folder.appending("a"), .creating)
            try file.write([1, 2, 3], at: 2)
            #expect(try file.size() == 5)
            #expect(try file.read(10, at: 0) == [0, 0, 1, 2, 3])
            #expect(try file.read(2, at: 3) == [2, 3])
            try file.resize(to: 3)
            try file.synchronizeData()
            file.close()
            let again = try files.open(folder.appending("a"), .reading)
            #expect(try again.read(10, at: 0) == [0, 0, 1])
            again.close()
        }
    }

    @Test func `a file is created once, and opened when it is there`() throws {
        try onBoth { files, folder in
            #expect(errno { _ = try files.open(folder.appending("a"), .existing) } == .noSuchFileOrDirectory)
            try files.open(folder.appending("a"), .creating).close()
            #expect(errno { _ = try files.open(folder.appending("a"), .creating) } == .fileExists)
            #expect(errno { _ = try files.open(folder, .reading) } != nil)
        }
    }

    @Test func `names are listed, renamed, replaced and removed`() throws {
        try onBoth { files, folder in
            try files.open(folder.appending("a"), .creating).close()
            try files.open(folder.appending("b"), .creating).close()
            try files.makeFolder(folder.appending("c"))
            try files.makeFolder(folder.appending("c"))
            #expect(try files.names(in: folder).sorted() == ["a", "b", "c"])
            try files.rename(folder.appending("a"), to: folder.appending("b"))
            #expect(try files.kind(of: folder.appending("a")) == nil)
            #expect(try files.kind(of: folder.appending("b")) == .regular)
            #expect(try files.kind(of: folder.appending("c")) == .folder)
            #expect(errno { try files.rename(folder.appending("b"), to: folder.appending("c")) } == .isDirectory)
            try files.open(folder.appending("a"), .creating).close()
            let (new, old) = (folder.appending("a"), folder.appending("b"))
            #expect(errno { try files.rename(new, to: old, replaces: false) } == .fileExists)
            #expect(try files.names(in: folder).sorted() == ["a", "b", "c"])
            try files.rename(new, to: folder.appending("d"), replaces: false)
            #expect(try files.names(in: folder).sorted() == ["b", "c", "d"])
            try files.remove(folder.appending("b"))
            #expect(errno { try files.remove(folder.appending("b")) } == .noSuchFileOrDirectory)
            try files.synchronizeFolder(folder)
        }
    }

    @Test func `a lock keeps another open file out until it is closed`() throws {
        try onBoth { files, folder in
            let first = try files.open(folder.appending("a"), .creating)
            let second = try files.open(folder.appending("a"), .existing)
            try first.lock()
            #expect(errno { try second.lock() } == .wouldBlock)
            first.close()
            try second.lock()
            second.close()
        }
    }

    @Test func `an own file has one name, and belongs to this user, to root or to the owner of its folder`() throws {
        let folder = FilePath(NSTemporaryDirectory()).appending("squall-files-\(UUID().uuidString)")
        let files = SystemFiles()
        try files.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder.string) }
        let path = folder.appending("a")
        try files.open(path, .creating).close()
        try files.open(path, .own).close()
        try FileManager.default.linkItem(atPath: path.string, toPath: folder.appending("b").string)
        try files.open(path, .existing).close()
        #expect(errno { _ = try files.open(path, .own) } == .tooManyLinks)
        let format = RecordLog(magic: "SquallDl", version: 1)
        #expect(errno { _ = try DurableLog.openLocked(path, format, in: files) } == .tooManyLinks)
        try files.remove(folder.appending("b"))
        // Only root can give a file away.
        guard chown(path.string, 65_534, 65_534) == 0 else { return }
        #expect(errno { _ = try files.open(path, .own) } == .notPermitted)
        #expect(chown(folder.string, 65_534, 65_534) == 0)
        try files.open(path, .own).close()
    }

    @Test func `a symbolic link is neither opened nor taken for a file`() throws {
        let folder = FilePath(NSTemporaryDirectory()).appending("squall-files-\(UUID().uuidString)")
        let files = SystemFiles()
        try files.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder.string) }
        try files.open(folder.appending("a"), .creating).close()
        try FileManager.default.createSymbolicLink(atPath: folder.appending("b").string, withDestinationPath: "a")
        #expect(try files.kind(of: folder.appending("b")) == .other)
        #expect(errno { _ = try files.open(folder.appending("b"), .existing) } == .tooManySymbolicLinkLevels)
    }
}
