import DurableFiles
import SimulatedDisk
import SystemPackage
import Units

@testable import TransferQueue

/// A server's word about one file, which outlives the machine: what was fetched or sent, and what it has.
struct SimulatedServer {
    var content: [UInt8]
    /// The bytes of an upload that the server has.
    var acknowledged = 0
    /// Bytes that went over the network, in all lives.
    var transferred = 0
    /// Bytes that may have gone twice: those beyond the last checkpoint of each life.
    var allowance = 0
    /// The checkpoint that was promised last.
    var promised = 0
    /// Whether the queue knows that the file is complete.
    var isProved = false
}

/// A transfer that keeps its promises as the engine does: bytes are synchronized before its log says so.
struct SimulatedTransfer {
    enum Step {
        case goes
        case complete
    }

    struct Broken: Error {
        var description: String
    }

    static let format = RecordLog(magic: "SimTrans", version: 1)
    let job: QueueJob
    private let part: FilePath
    private let file: (any OpenFile)?
    private let log: DurableLog
    private var offset = 0
    private var checkpoint = 0
    /// Bytes that a crash now makes go twice.
    private(set) var unsaved = 0
    private let checkpointBytes: Int

    private static func path(_ job: QueueJob, _ suffix: String) -> FilePath {
        FilePath(job.transfer.file + suffix)
    }

    /// Whether an earlier life has done all but saying so.
    static func isDone(_ job: QueueJob, _ server: SimulatedServer, on disk: SimulatedDisk) throws -> Bool {
        guard let proof = job.proof else { return false }
        if job.transfer.direction == .upload { return server.acknowledged == server.content.count }
        guard try disk.kind(of: path(job, ".part")) == nil else { return false }
        let file = try disk.open(FilePath(job.transfer.file), .reading)
        defer { file.close() }
        try disk.synchronizeFolder("/d")
        return try file.size() == proof.bytes
    }

    init(_ job: QueueJob, _ server: inout SimulatedServer, on disk: SimulatedDisk, checkpointBytes: Int) throws {
        self.job = job
        self.checkpointBytes = checkpointBytes
        part = Self.path(job, ".part")
        log = try DurableLog.openLocked(Self.path(job, ".log"), Self.format, in: disk)
        do {
            var known = 0
            if try !log.isEmpty, case .success(let contents) = try log.read(limit: 1 << 20) {
                known = contents.records.last.map { Int($0.payload[...].littleEndianNumber) } ?? 0
            }
            if job.transfer.direction == .upload {
                file = nil
                offset = known > 0 || server.acknowledged == 0 ? server.acknowledged : 0
            } else {
                let isThere = try disk.kind(of: part) != nil
                let file = try disk.open(part, isThere ? .existing : .creating)
                self.file = file
                // What a failed call has left in the system's memory only isn't shown any more.
                try file.dropCache()
                let held = try file.read(known, at: 0)
                offset = zip(held, server.content).prefix { $0 == $1 }.count
                try file.resize(to: Int64(offset))
            }
            try disk.synchronizeFolder("/d")
            if known > 0 { try log.replace(with: [Self.record(file == nil ? 1 : offset)]) }
        } catch {
            log.close()
            throw error
        }
        checkpoint = offset
        guard offset >= server.promised else {
            throw Broken(description: "\(server.promised) bytes were promised, and \(offset) are here")
        }
    }

    /// Moves at most `count` bytes, and says so to the log when a checkpoint is due.
    mutating func step(_ count: Int, _ server: inout SimulatedServer) throws -> Step {
        if server.isProved, job.transfer.direction == .upload || offset < server.content.count {
            throw Broken(description: "a complete file is transferred again")
        }
        let bytes = Array(server.content.dropFirst(offset).prefix(count))
        if !bytes.isEmpty {
            if let file {
                server.transferred += bytes.count
                unsaved += bytes.count
                try file.write(bytes, at: Int64(offset))
            } else {
                // What the upload is called has to be known before bytes are sent.
                if checkpoint == 0 { try promise(1) }
                server.transferred += bytes.count
                server.acknowledged = offset + bytes.count
                server.promised = server.acknowledged
            }
            offset += bytes.count
        }
        if file != nil, offset - checkpoint >= checkpointBytes || offset == server.content.count, offset > checkpoint {
            try file?.synchronizeData()
            try promise(offset)
            server.promised = offset
        }
        return offset == server.content.count ? .complete : .goes
    }

    private static func record(_ offset: Int) -> RecordLog.Record {
        var payload: [UInt8] = []
        payload.appendLittleEndian(UInt64(offset))
        return RecordLog.Record(kind: 1, payload: payload)
    }

    private mutating func promise(_ offset: Int) throws {
        try log.append(Self.record(offset))
        checkpoint = offset
        unsaved = 0
    }

    /// The last step, after the queue has written its proof.
    func finish(on disk: SimulatedDisk) throws {
        if file != nil {
            try disk.rename(part, to: FilePath(job.transfer.file))
            try disk.synchronizeFolder("/d")
        }
        try? log.remove()
    }

    func close() {
        file?.close()
        log.close()
    }
}
