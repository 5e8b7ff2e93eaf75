import DurableFiles
import NIOPosix
import SystemPackage

/// A file that a body is streamed to and that is renamed when complete.
package final class ReceivedFile: Sendable {
    private let worker: FileWorker
    private let files = SystemFiles()
    private let file: any OpenFile
    private let temporary: FilePath
    private let path: FilePath

    /// Creates an empty file next to `path`, under a unique temporary name.
    ///
    /// - Throws: `.fileSystem` where the system refuses.
    package init(for path: FilePath) async throws(TransferError) {
        worker = FileWorker(pool: .singleton)
        let path = try await worker.target(of: path)
        let number = String(UInt64.random(in: .min ... .max), radix: 36)
        let name = ".\(path.lastComponent?.string ?? "file").\(number).squall-part"
        let temporary = path.removingLastComponent().appending(name)
        file = try await worker.run {
            try PartialFilePaths.checkReplaceable(path, followingLinks: false)
            return try SystemFiles().open(temporary, .creating)
        }
        (self.path, self.temporary) = (path, temporary)
    }

    /// Writes bytes at an offset.
    package func write(_ bytes: [UInt8], at offset: Int64) async throws(TransferError) {
        try await worker.run { [file] in try file.write(bytes, at: offset) }
    }

    /// Syncs the file and renames it.
    package func finish() async throws(TransferError) {
        try await worker.run { [self] in
            try file.synchronizeData()
            if try files.kind(of: path) == .regular { try file.copyPermissions(of: path) }
            try files.rename(temporary, to: path)
            file.close()
            try? files.synchronizeFolder(path.removingLastComponent())
        }
    }

    /// Removes the file.
    package func discard() async {
        try? await worker.run { [self] in
            file.close()
            try? files.remove(temporary)
        }
    }
}
