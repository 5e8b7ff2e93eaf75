import Crypto
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage
import TransferProtocol

/// The file that remembers an unfinished upload: `NAME.squall-upload` in a folder for the user alone.
///
/// It is locked as long as this value is open. The name is a digest of the method, the URL and the file's path, so
/// that the same command finds it again. The file is as secret as the upload's URL in it: mode 0600.
final class UploadJournalFile: Sendable {
    private let path: FilePath
    private let folder: FilePath
    private let descriptor: SystemPackage.FileDescriptor
    private let worker: FileWorker
    private let end = Mutex<Int64>(0)

    private init(
        _ path: FilePath,
        folder: FilePath,
        _ descriptor: SystemPackage.FileDescriptor,
        _ worker: FileWorker
    ) {
        self.path = path
        self.folder = folder
        self.descriptor = descriptor
        self.worker = worker
    }

    /// Opens and locks the journal of an upload; makes its folder where there is none.
    static func open(
        _ request: UploadRequest,
        _ source: UploadSourceFile,
        _ url: DownloadURL,
        _ worker: FileWorker
    ) async throws(UploadError) -> UploadJournalFile {
        let folder = request.journalFolder
        let key = "\(request.method.rawValue) \(url.text)\n\(source.canonicalPath)"
        let name = SHA256.hash(data: Array(key.utf8)).prefix(16).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let path = folder.appending("\(name.joined()).squall-upload")
        do {
            try await NonBlockingFileIO(threadPool: worker.pool).createDirectory(
                path: folder.string,
                withIntermediateDirectories: true,
                mode: 0o700
            )
        } catch {
            let code = (error as? IOError).map { Errno(rawValue: $0.errnoCode) } ?? .ioError
            if code != .fileExists { throw .fileSystem(call: "mkdir", path: folder.string, code) }
        }
        return try await UploadError.mapping { () async throws(DownloadError) in
            try await worker.run { () throws(DownloadError) in
                UploadJournalFile(path, folder: folder, try locked(path), worker)
            }
        }
    }

    private static func locked(_ path: FilePath) throws(DownloadError) -> SystemPackage.FileDescriptor {
        while true {
            let descriptor = try FileCall.run("open", path) {
                try SystemPackage.FileDescriptor.open(
                    path,
                    .readWrite,
                    options: [.create, .noFollow, .closeOnExec, .nonBlocking],
                    permissions: [.ownerReadWrite]
                )
            }
            do throws(DownloadError) {
                try FileCall.lock(descriptor, path)
                let mine = try FileCall.run("fstat", path) { try descriptor.stat() }
                // An upload that ended between the opening and the locking has removed the file.
                if let named = try? path.stat(followTargetSymlink: false), named.inode == mine.inode,
                    named.deviceID == mine.deviceID
                {
                    return descriptor
                }
            } catch {
                _ = try? descriptor.close()
                throw error
            }
            _ = try? descriptor.close()
        }
    }

    /// What an earlier run left; `nil` when there is nothing that can be used.
    func read() async throws(UploadError) -> UploadJournal? {
        let reader = FileReader(pool: worker.pool)
        let bytes = try await UploadError.mapping { () async throws(DownloadError) -> [UInt8] in
            let size = try await reader.size(path)
            guard size <= UploadJournal.longest else { return [] }
            var bytes: [UInt8] = []
            try await reader.read(path, 0..<size) { bytes += $0 }
            return bytes
        }
        guard let journal = UploadJournal(bytes) else { return nil }
        end.withLock { $0 = Int64(bytes.count) }
        return journal
    }

    /// Notes a new upload in the place of the one before, and brings it to the disk.
    func begin(_ creation: UploadJournal.Creation) async throws(UploadError) {
        try await onWorker { [self] () throws(DownloadError) in
            try FileCall.run("ftruncate", path) { try descriptor.resize(to: 0) }
            end.withLock { $0 = 0 }
            try append(UploadJournal.beginning(creation))
            let directory = try FileCall.run("open", folder) {
                try SystemPackage.FileDescriptor.open(folder, .readOnly, options: [.directory, .closeOnExec])
            }
            let synchronized = Result { () throws(DownloadError) in try FileCall.synchronize(directory, folder) }
            try FileCall.run("close", folder) { try directory.close() }
            try synchronized.get()
        }
    }

    /// Notes that the last bytes are about to be sent. Without an upload to continue there is nothing to note.
    func completionBegan() async throws(UploadError) {
        try await onWorker { [self] () throws(DownloadError) in
            if end.withLock({ $0 }) > 0 { try append(UploadJournal.completionBegan) }
        }
    }

    /// Removes the file.
    func remove() async throws(UploadError) {
        try await UploadError.mapping { () async throws(DownloadError) in try await worker.remove(path) }
    }

    /// Closes the file, and gives the lock up; removes it when it has nothing in it. To be called once, as the last.
    func close() async {
        if (try? descriptor.stat())?.size == 0 { try? await remove() }
        _ = try? await worker.run { [descriptor] () throws(DownloadError) in _ = try? descriptor.close() }
    }

    private func append(_ bytes: [UInt8]) throws(DownloadError) {
        let offset = end.withLock { $0 }
        try FileCall.run("pwrite", path) { _ = try descriptor.writeAll(toAbsoluteOffset: offset, bytes) }
        try FileCall.synchronizeData(descriptor, path)
        end.withLock { $0 = offset + Int64(bytes.count) }
    }

    private func onWorker(_ body: @escaping @Sendable () throws(DownloadError) -> Void) async throws(UploadError) {
        try await UploadError.mapping { () async throws(DownloadError) in try await worker.run(body) }
    }
}
