package import DurableFiles
internal import FoundationEssentials
internal import Synchronization
package import SystemPackage

/// The log of a queue: `queue.log` in a private folder, and `queue.lock`, which one open value has at a time, across
/// processes.
///
/// Calls block and must not overlap. A record is durable when `append` returns.
package final class QueueLog: Sendable {
    private let log: DurableLog
    /// A file of its own, which is never replaced.
    private let lock: any OpenFile
    private let state = Mutex(State())

    private struct State {
        /// The size after the last rewrite.
        var rewrittenSize: Int64 = 0
        /// Whether a failed call makes the open file unusable, so that the next record rewrites the log.
        var mustRewrite = true
    }

    /// The largest log that is read: 1 GiB, more than twice all jobs.
    private static let maximumSize: Int64 = 1 << 30
    /// A log is rewritten when it is longer than twice its shortest form, and by this much: 256 KiB.
    private static let slack: Int64 = 256 << 10
    private static let format = RecordLog(magic: "SquallQ\n", version: 1)
    /// The kind of all records.
    private static let kind: UInt8 = 1

    private init(_ log: DurableLog, _ lock: any OpenFile) {
        self.log = log
        self.lock = lock
    }

    /// Why a log can't be used.
    package enum Problem: Error, Hashable, Sendable {
        /// Another process has the queue.
        case locked
        /// The file isn't a queue's, or is damaged: why. It stays as it is.
        case unusable(String)
        /// A call has failed.
        case file(FileError)
    }

    /// Opens and locks the log in a folder, and reads it.
    ///
    /// What an earlier process has written may be in the system's memory only, so everything is written once more.
    package static func open(
        in folder: FilePath,
        limits: QueueLimits,
        files: any FileSystem
    ) throws(Problem) -> (log: QueueLog, state: QueueState) {
        do {
            let lock = try LockedFile.open(folder.appending("queue.lock"), isPrivate: true, in: files)
            do {
                let log = try DurableLog.openLocked(folder.appending("queue.log"), format, isPrivate: true, in: files)
                let opened = QueueLog(log, lock)
                do {
                    let state = try read(log, limits)
                    try opened.rewrite(state)
                    return (opened, state)
                } catch {
                    log.close()
                    throw error
                }
            } catch {
                lock.close()
                throw error
            }
        } catch let error as FileError {
            throw error.call == "flock" && error.errno == .wouldBlock ? .locked : .file(error)
        } catch let error as Problem {
            throw error
        } catch {
            throw .unusable("\(error)")
        }
    }

    /// Reads the log in a folder without locking or changing it; an empty state without one.
    package static func peek(in folder: FilePath, files: any FileSystem) throws(Problem) -> QueueState {
        let path = folder.appending("queue.log")
        do {
            guard try files.kind(of: path) != nil else { return QueueState() }
            let log = try DurableLog.openReading(path, format, in: files)
            defer { log.close() }
            return try read(log, QueueLimits())
        } catch let error as FileError {
            throw .file(error)
        } catch let error as Problem {
            throw error
        } catch {
            throw .unusable("\(error)")
        }
    }

    private static func read(_ log: DurableLog, _ limits: QueueLimits) throws -> QueueState {
        var state = QueueState(limits: limits)
        // The file is there before its first bytes are.
        if try log.isEmpty { return state }
        switch try log.read(limit: maximumSize) {
        case .failure(.foreign): throw Problem.unusable("it isn't the log of a queue")
        case .failure(.newerVersion(let version)):
            throw Problem.unusable("version \(version) of Squall's log, a newer one")
        case .failure(.damaged(let offset)): throw Problem.unusable("it is damaged at byte \(offset)")
        case .success(let contents):
            let decoder = JSONDecoder()
            for record in contents.records where record.kind == kind {
                do {
                    state.apply(try decoder.decode(QueueRecord.self, from: Data(record.payload)))
                } catch {
                    throw Problem.unusable("it has a record that this version can't read")
                }
            }
            return state
        }
    }

    /// Writes a record. Rewrites the log where it is much longer than its shortest form, and after a failure.
    ///
    /// - Parameter state: The state with the record.
    /// - Throws: `FileError`, also for a record that is too large; the next call decides whether the record is in the log.
    package func append(_ record: QueueRecord, _ state: @autoclosure () -> QueueState) throws(FileError) {
        guard !self.state.withLock({ $0.mustRewrite }) else { return try rewrite(state()) }
        let encoded = try encoded(record)
        do throws(FileError) {
            try log.append(encoded)
        } catch {
            return try rewrite(state())
        }
        guard log.size > self.state.withLock({ $0.rewrittenSize }) * 2 + Self.slack else { return }
        // The record is durable already; the next one tries again.
        try? rewrite(state())
    }

    /// Writes a state in place of all records, as `append` does.
    package func rewrite(_ state: QueueState) throws(FileError) {
        self.state.withLock { $0.mustRewrite = true }
        var records: [RecordLog.Record] = []
        for record in state.records { records.append(try encoded(record)) }
        try log.replace(with: records)
        self.state.withLock { $0 = State(rewrittenSize: log.size, mustRewrite: false) }
    }

    private func encoded(_ record: QueueRecord) throws(FileError) -> RecordLog.Record {
        let payload = Self.bytes(of: record)
        guard payload.count <= RecordLog.maximumPayloadSize else {
            throw FileError(call: "write", path: log.path, errno: .fileTooLarge)
        }
        return RecordLog.Record(kind: Self.kind, payload: payload)
    }

    /// The bytes of a record in the log.
    package static func bytes(of record: QueueRecord) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(record) else { preconditionFailure("A record has values of JSON only") }
        return Array(data)
    }

    /// Closes the log, and lets another process have the queue. Called once, last.
    package func close() {
        log.close()
        lock.close()
    }
}
