import Foundation
import Glibc
import Synchronization
import TestStreams
import Testing

@testable import OperatingSystem

/// Blocks of eight bytes: a number, twice.
struct BlockWriterTests {
    private static func filler(_ size: UInt32) -> (head: UInt64, tail: UInt32) { (UInt64(size) << 32, size) }

    /// What is in a folder that `body` had written to, and the failures that it was told.
    private func written(
        limit: Int64 = 1 << 20,
        over old: String? = nil,
        _ body: (BlockWriter, String) throws -> Void
    ) throws -> (files: [String: Data], mode: Int, failures: Int) {
        let folder = try Folder()
        let path = folder.file("file")
        if let old { try old.write(toFile: path, atomically: false, encoding: .utf8) }
        let failures = Atomic<Int>(0)
        let writer = try BlockWriter(
            path: path,
            limit: limit,
            filler: BlockWriterTests.filler,
            prologue: { $0.append(Array("PROLOGUE".utf8)) },
            whenFailing: { _ in failures.add(1, ordering: .relaxed) }
        )
        try body(writer, path)
        var files: [String: Data] = [:]
        for name in folder.names { files[name] = try Data(contentsOf: folder.url.appendingPathComponent(name)) }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        return (files, mode ?? 0, failures.load(ordering: .relaxed))
    }

    private func append(_ number: Int, to writer: BlockWriter) -> Bool {
        writer.append(size: 8) { buffer in
            buffer.append(UInt32(number))
            buffer.append(bigEndian: UInt32(number))
        }
    }

    /// The numbers of the blocks, but for prologues.
    private func numbers(_ data: Data) -> [Int] {
        stride(from: 0, to: data.count, by: 8).compactMap { start in
            let block = [UInt8](data[start..<start + 8])
            guard block != Array("PROLOGUE".utf8) else { return nil }
            let number = (0..<4).reduce(0) { $0 | Int(block[$1]) << (8 * $1) }
            #expect(Array(block[4...]) == block[..<4].reversed())
            return number
        }
    }

    @Test func `a file has all blocks in order, behind what it begins with, and is its owner's alone`() throws {
        let (files, mode, failures) = try written(over: "something old that is longer than the first blocks") {
            writer,
            path in
            #expect(append(0, to: writer))
            // What is there stays until then.
            let kept = try String(contentsOfFile: path, encoding: .utf8)
            #expect(kept.hasPrefix("something old"))
            writer.begin()
            for number in 1..<1_000 { #expect(append(number, to: writer)) }
            #expect(writer.finish().failure == nil)
        }
        #expect(files.keys.sorted() == ["file"] && mode == 0o600 && failures == 0)
        let data = try #require(files["file"])
        #expect(data.prefix(8) == Data("PROLOGUE".utf8))
        #expect(numbers(data) == Array(0..<1_000))
    }

    @Test func `a file that isn't begun stays as it is`() throws {
        let (files, _, failures) = try written(over: "something old") { writer, _ in
            #expect(append(0, to: writer))
            #expect(writer.finish().failure == nil)
        }
        #expect(files == ["file": Data("something old".utf8)] && failures == 0)
    }

    @Test func `a file of limited size keeps the newest blocks, each part whole, and touches no other`() throws {
        let count = 400_000
        let (written, _, _) = try written { writer, path in
            // Of a user, and of a process that was killed.
            for name in [".1", ".2", ".squall-1", ".squall-2"] {
                try name.write(toFile: path + name, atomically: false, encoding: .utf8)
            }
            writer.begin()
            for number in 0..<count {
                while !append(number, to: writer) { sched_yield() }
            }
            _ = writer.finish()
        }
        var files = written
        for name in [".1", ".2"] { #expect(files.removeValue(forKey: "file" + name) == Data(name.utf8)) }
        let data = try #require(files["file"])
        let numbers = numbers(data)
        #expect(files.count == 1 && data.count <= 1 << 20 && data.count > 1 << 19)
        #expect(numbers == Array(count - numbers.count..<count))
    }

    @Test func `links stay, and the parts lie beside the file`() throws {
        let (folder, links) = (try Folder(), try Folder())
        let (path, link) = (folder.file("file"), links.file("link"))
        let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
        defer { close(descriptor) }
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        let failures = Atomic<Int>(0)
        func writer(_ path: String) throws -> BlockWriter {
            try BlockWriter(
                path: path,
                limit: 1 << 20,
                filler: BlockWriterTests.filler,
                prologue: { _ in },
                whenFailing: { _ in failures.add(1, ordering: .relaxed) }
            )
        }
        for name in [link, "/proc/self/fd/\(descriptor)"] {
            let writer = try writer(name)
            writer.begin()
            // More than one part has.
            for number in 0..<100_000 {
                while !append(number, to: writer), failures.load(ordering: .relaxed) == 0 { sched_yield() }
            }
            #expect(writer.finish().failure == nil)
            #expect(folder.names == ["file"] && links.names == ["link"])
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
            #expect(numbers(try Data(contentsOf: URL(fileURLWithPath: path))) == Array(0..<100_000))
        }
        unlink(path)
        for _ in 1...2 {
            #expect(throws: SystemError(call: "realpath", code: ENOENT)) { try writer("/proc/self/fd/\(descriptor)") }
            // Another file that has the name by which the system calls a deleted one.
            try Data().write(to: URL(fileURLWithPath: path + " (deleted)"))
        }
    }

    @Test func `a file that is no link needs no path without links, and a link's error is that of its path`() throws {
        let folder = try Folder()
        // The system tells paths of 4,096 bytes at most.
        let name = String(repeating: "d", count: 250)
        var folders = [open(folder.path, O_RDONLY)]
        defer {
            for (below, descriptor) in zip(folders.dropLast(), folders.dropFirst()).reversed() {
                for name in ["file", "link"] { unlinkat(descriptor, name, 0) }
                unlinkat(below, name, AT_REMOVEDIR)
            }
            for descriptor in folders { close(descriptor) }
        }
        var deepest = folders[0]
        for _ in 0..<17 {
            try #require(mkdirat(deepest, name, 0o700) == 0)
            deepest = openat(deepest, name, O_RDONLY)
            try #require(deepest >= 0)
            folders.append(deepest)
        }
        let path = "/proc/self/fd/\(deepest)/"
        let failures = Atomic<Int>(0)
        func writer(_ name: String) throws -> BlockWriter {
            try BlockWriter(
                path: path + name,
                limit: 1 << 20,
                filler: BlockWriterTests.filler,
                prologue: { _ in },
                whenFailing: { _ in failures.add(1, ordering: .relaxed) }
            )
        }
        let file = try writer("file")
        file.begin()
        // More than one part has.
        for number in 0..<100_000 {
            while !append(number, to: file), failures.load(ordering: .relaxed) == 0 { sched_yield() }
        }
        #expect(file.finish().failure == nil)
        let data = try #require(FileManager.default.contents(atPath: path + "file"))
        #expect(numbers(data) == Array(0..<100_000))
        try #require(symlinkat("file", deepest, "link") == 0)
        #expect(throws: SystemError(call: "realpath", code: ENAMETOOLONG)) { try writer("link") }
    }

    @Test func `blocks that nobody writes are dropped and counted, and the writer goes on`() throws {
        let (files, _, _) = try written { writer, _ in
            // A quarter of the limit may wait.
            let room = (1 << 18) / 8
            for number in 0..<room { #expect(append(number, to: writer)) }
            #expect(!append(room, to: writer))
            writer.begin()
            #expect(append(room + 1, to: writer))
            for _ in 0..<2 { #expect(writer.finish().dropped == 1) }
        }
        let data = try #require(files["file"])
        let last: Int = (1 << 18) / 8
        #expect(Array(numbers(data).suffix(2)) == [last - 1, last + 1])
    }

    @Test func `a file is closed at the end, although blocks may still come`() throws {
        let (files, _, _) = try written { writer, path in
            writer.begin()
            #expect(append(1, to: writer))
            #expect(throws: SystemError.self) { try LineWriter(path: path) }
            _ = writer.finish()
            #expect(!append(2, to: writer))
            _ = try LineWriter(path: path)
        }
        #expect(try numbers(#require(files["file"])) == [1])
    }

    @Test func `a FIFO keeps its permissions, and gets every block`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("squall-fifo-\(UUID())").path
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        #expect(chmod(path, 0o644) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let writer = try BlockWriter(
            path: path,
            limit: 1 << 20,
            filler: BlockWriterTests.filler,
            prologue: { _ in },
            whenFailing: { _ in }
        )
        writer.begin()
        for number in 0..<100 { #expect(append(number, to: writer)) }
        #expect(writer.finish().failure == nil)
        var facts = stat()
        #expect(stat(path, &facts) == 0 && facts.st_mode & 0o777 == 0o644)
        var bytes = [UInt8](repeating: 0, count: 1_000)
        let count = read(reader, &bytes, bytes.count)
        #expect(numbers(Data(bytes.prefix(max(0, count)))) == Array(0..<100))
    }

    @Test func `a device that is full ends the writing once, and nobody waits`() throws {
        let failures = Atomic<Int>(0)
        let writer = try BlockWriter(
            path: "/dev/full",
            limit: 1 << 20,
            filler: BlockWriterTests.filler,
            prologue: { _ in },
            whenFailing: { _ in failures.add(1, ordering: .relaxed) }
        )
        writer.begin()
        for number in 0..<100 { _ = append(number, to: writer) }
        let end = writer.finish()
        #expect(end.failure?.code == ENOSPC && !append(1, to: writer))
        #expect(failures.load(ordering: .relaxed) == 1)
    }
}
