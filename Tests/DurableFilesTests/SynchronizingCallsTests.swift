import Foundation
import Glibc
import Synchronization
import SystemPackage
import Testing

@testable import DurableFiles

/// The sync calls, which otherwise only a power cut would verify.
@Suite struct SynchronizingCallsTests {
    /// Counts calls by file.
    private final class Counter: Sendable {
        let data = Mutex<[String]>([])
        let names = Mutex<[String]>([])

        var calls: SynchronizingCalls {
            SynchronizingCalls(
                synchronizeData: { descriptor in
                    self.data.withLock { $0.append(Self.name(of: descriptor)) }
                    return 0
                },
                synchronize: { descriptor in
                    self.names.withLock { $0.append(Self.name(of: descriptor)) }
                    return 0
                }
            )
        }

        private static func name(of descriptor: CInt) -> String {
            let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            return link.flatMap { $0.split(separator: "/").last.map(String.init) } ?? ""
        }
    }

    private func withFolder(_ files: SystemFiles, _ body: (FilePath) throws -> Void) throws {
        let folder = FilePath(NSTemporaryDirectory()).appending("squall-calls-\(UUID().uuidString)")
        try files.makeFolder(folder)
        defer { try? FileManager.default.removeItem(atPath: folder.string) }
        try body(folder)
    }

    /// A pipe can't be synced, which only the system knows.
    @Test func `the machine's own calls reach the system`() throws {
        let (read, write) = try FileDescriptor.pipe()
        defer {
            try? read.close()
            try? write.close()
        }
        let calls = SystemFiles().calls
        #expect(calls.synchronizeData(write.rawValue) == -1)
        #expect(Errno(rawValue: errno) == .invalidArgument)
        #expect(calls.synchronize(write.rawValue) == -1)
        #expect(Errno(rawValue: errno) == .invalidArgument)
    }

    @Test(arguments: [FileOpening.creating, .creatingPrivately, .existing])
    func `each synchronization of a file is one call for that file`(opening: FileOpening) throws {
        let counter = Counter()
        let files = SystemFiles(calls: counter.calls)
        try withFolder(files) { folder in
            let path = folder.appending("a")
            if opening == .existing { try files.open(path, .creating).close() }
            let file = try files.open(path, opening)
            try file.write([1], at: 0)
            #expect(counter.data.withLock { $0 } == [])
            try file.synchronizeData()
            try file.synchronizeData()
            file.close()
            #expect(counter.data.withLock { $0 } == ["a", "a"])
        }
    }

    @Test func `a record and a replacement are synchronized before their calls return`() throws {
        let counter = Counter()
        let files = SystemFiles(calls: counter.calls)
        try withFolder(files) { folder in
            let name = folder.lastComponent?.string
            let log = try DurableLog.openLocked(
                folder.appending("log"),
                RecordLog(magic: "SquallDl", version: 1),
                in: files
            )
            try log.append(.init(kind: 1, payload: [1]))
            #expect(counter.data.withLock { $0 } == ["log"])
            #expect(counter.names.withLock { $0 } == [])
            try log.replace(with: [.init(kind: 1, payload: [2])])
            log.close()
            #expect(counter.data.withLock { $0 } == ["log", "log.new"])
            #expect(counter.names.withLock { $0 } == [name])
            try files.synchronizeFolder(folder)
            #expect(counter.names.withLock { $0 } == [name, name])
        }
    }

    @Test func `a replacement that fails leaves the file as it was, and nothing beside it`() throws {
        let calls = SynchronizingCalls(
            synchronizeData: { _ in
                errno = ENOSPC
                return -1
            },
            synchronize: { _ in 0 }
        )
        try withFolder(SystemFiles()) { folder in
            let path = folder.appending("a")
            try AtomicReplacement.replace(path, with: [1], in: SystemFiles()).close()
            #expect(throws: FileError.self) {
                try AtomicReplacement.replace(path, with: [2], in: SystemFiles(calls: calls))
            }
            let file = try SystemFiles().open(path, .existing)
            defer { file.close() }
            #expect(try file.read(9, at: 0) == [1])
            #expect(try SystemFiles().kind(of: folder.appending("a.new")) == nil)
        }
    }

    /// EACCES is that of a folder that can't be opened.
    @Test(arguments: [Errno.invalidArgument, .permissionDenied])
    func `a failed sync of a file is permanent, and a folder that can't be synced is no failure`(code: Errno) throws {
        let failing = SynchronizingCalls(
            synchronizeData: { _ in
                errno = EIO
                return -1
            },
            synchronize: { _ in
                errno = code.rawValue
                return -1
            }
        )
        try withFolder(SystemFiles(calls: failing)) { folder in
            let file = try SystemFiles(calls: failing).open(folder.appending("a"), .creating)
            defer { file.close() }
            for _ in 0..<2 {
                let error = #expect(throws: FileError.self) { try file.synchronizeData() }
                #expect(error?.errno == .ioError)
            }
            try SystemFiles(calls: failing).synchronizeFolder(folder)
        }
    }
}
