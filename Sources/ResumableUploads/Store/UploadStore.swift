import DurableFiles
import HTTPSemantics
import Synchronization
import SystemPackage

/// The uploads of a server in a folder: a data file and a log for each.
///
/// An offset may be acknowledged when `checkpoint` has returned: the bytes and a log record are durable. A crash
/// between any two file system calls keeps every acknowledgement valid. All calls block. Different uploads can be used
/// concurrently, each by one caller at a time.
package final class UploadStore: Sendable {
    /// The name of the store's subfolder, in the folder for complete files.
    package static let folderName = ".squall-uploads"

    let files: any FileSystem
    /// The folder for complete files.
    let folder: FilePath
    /// The store's subfolder.
    let inside: FilePath
    /// The current entity tag of a complete file.
    let entityTag: @Sendable (FilePath) -> EntityTag?
    private let uploads = Mutex<[UploadToken: StoredUpload]>([:])
    private let lock: any OpenFile
    private let targetLocks = (0..<UploadStore.targetLockCount).map { _ in TargetLock() }

    /// The number of target locks. Names that share a lock wait for each other.
    private static let targetLockCount = 64

    private final class TargetLock: Sendable {
        let mutex = Mutex(())
    }

    /// Opens the store in an existing folder, and locks it against other servers. `entityTag` gives the current entity tag of
    /// a complete file, for `If-Match`, or `nil` without a file; by default no file has a tag.
    ///
    /// - Throws: `wouldBlock` when another server has it, and errors of the file system.
    package init(
        folder: FilePath,
        in files: any FileSystem,
        entityTag: @escaping @Sendable (FilePath) -> EntityTag? = { _ in nil }
    ) throws(FileError) {
        self.files = files
        self.entityTag = entityTag
        self.folder = folder
        inside = folder.appending(Self.folderName)
        try files.makeFolder(inside)
        try files.synchronizeFolder(folder)
        let path = inside.appending("lock")
        let lock = try files.kind(of: path) == nil ? files.open(path, .creating) : files.open(path, .existing)
        do throws(FileError) {
            try lock.lock()
        } catch {
            lock.close()
            throw error
        }
        self.lock = lock
    }

    /// Closes the store. Called once, last.
    package func close() {
        let all = uploads.withLock { uploads in
            defer { uploads = [:] }
            return Array(uploads.values)
        }
        for upload in all { upload.release() }
        lock.close()
    }

    /// Recovers the uploads of an earlier run, truncated to their last checkpoint, and removes garbage.
    ///
    /// Removes an upload that lost acknowledged bytes. Leaves uploads of newer versions unchanged.
    package func recover() throws(FileError) -> [RecoveredUpload] {
        var recovered: [RecoveredUpload] = []
        var kept: Set<String> = ["lock"]
        let names = try files.names(in: inside).sorted()
        for name in names where name.hasSuffix(StoredUpload.logSuffix) {
            guard let token = UploadToken(name.dropLast(StoredUpload.logSuffix.utf8.count)) else { continue }
            let upload = StoredUpload(token, in: self)
            let limit = UploadLog.maximumSize * 2
            guard let contents = try? DurableLog.read(upload.logPath, UploadLog.format, limit: limit, in: files) else {
                // A disk error: the upload isn't served in this run; the next one retries.
                kept.formUnion([name, upload.dataName])
                continue
            }
            switch contents {
            case .failure(.newerVersion): kept.formUnion([name, upload.dataName])
            case .failure: break
            case .success(let contents):
                guard let summary = UploadLog.summary(of: contents.records) else { continue }
                kept.formUnion([name, upload.dataName])
                switch upload.adopt(summary) {
                case .restored(let length):
                    let record = upload.record ?? summary.record
                    recovered.append(RecoveredUpload(token: token, record: record, state: .receiving(length: length)))
                    upload.release()
                case .finished(let outcome):
                    recovered.append(RecoveredUpload(token: token, record: summary.record, state: .completed(outcome)))
                case .failed(.lost):
                    kept.subtract([name, upload.dataName])
                    continue
                case .failed, .done, .responded:
                    continue
                }
                uploads.withLock { $0[token] = upload }
            }
        }
        // Lists again, since recovery may have replaced or removed files.
        for name in try files.names(in: inside) where !kept.contains(name) && Self.isOwn(name) {
            try files.remove(inside.appending(name))
        }
        try files.synchronizeFolder(inside)
        return recovered
    }

    /// Whether a name is one of the store's.
    private static func isOwn(_ name: String) -> Bool {
        [StoredUpload.logSuffix, StoredUpload.dataSuffix, StoredUpload.logSuffix + AtomicReplacement.suffix].contains {
            name.hasSuffix($0) && UploadToken(name.dropLast($0.utf8.count)) != nil
        }
    }

    /// Runs `body` with exclusive access to the target of this name.
    func withTarget<Value: Sendable, Failure: Error>(
        _ name: String,
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let lock = targetLocks[Int(UInt(bitPattern: name.hashValue) % UInt(Self.targetLockCount))]
        return try lock.mutex.withLock { _ throws(Failure) in try body() }
    }

    /// Executes a command for an upload.
    package func perform(_ command: UploadStoreCommand, for token: UploadToken) -> UploadStoreResult {
        let upload = uploads.withLock { uploads -> StoredUpload in
            if case .remove = command {
                return uploads.removeValue(forKey: token) ?? StoredUpload(token, in: self)
            }
            if let upload = uploads[token] { return upload }
            let upload = StoredUpload(token, in: self)
            uploads[token] = upload
            return upload
        }
        return upload.perform(command)
    }
}
