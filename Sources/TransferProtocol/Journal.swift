/// The contents of the journal next to a partial file.
public struct Journal: Hashable, Sendable {
    /// The first eight bytes of the file.
    public static let magic = "SquallDl"
    /// The version that is written.
    public static let version: UInt8 = 2
    /// The maximum size of a journal: 4 MiB. One that grows is rewritten before 3 MiB.
    public static let maximumSize: Int64 = 4 << 20

    /// The origin of the partial file's bytes.
    public private(set) var source: JournalSource
    /// The checkpoints since the last restart, in the order they were written.
    public private(set) var checkpoints: [JournalCheckpoint] = []
    /// The hashes of the file's prefixes.
    public private(set) var blocks: BlockHashes

    /// Makes the journal of a file that is durable up to `checkpoint`.
    public init(source: JournalSource, checkpoint: JournalCheckpoint?, blocks: BlockHashes) {
        self.source = source
        self.blocks = blocks
        if let checkpoint { checkpoints = [checkpoint] }
    }

    /// Parses the records of a journal, in order. Skips unknown kinds.
    ///
    /// Throws when nothing usable is left: the transfer then starts over.
    public init(records: [(kind: UInt8, payload: [UInt8])]) throws(JournalProblem) {
        var source: JournalSource?
        var blocks: BlockHashes?
        for (index, (kind, payload)) in records.enumerated() {
            guard JournalRecord.kinds.contains(kind) else { continue }
            guard let record = JournalRecord(kind: kind, payload: payload[...]) else { throw .unknownRecord(index) }
            switch record {
            case .started(let new):
                source = new
                checkpoints.removeAll()
                blocks = nil
            case .updated(let new): source = new
            case .checkpoint(let checkpoint, let part):
                checkpoints.append(checkpoint)
                guard let part else { continue }
                if blocks == nil { blocks = BlockHashes(blockSize: part.blockSize) }
                guard blocks?.apply(part) == true else { throw .unknownRecord(index) }
            }
        }
        guard let source else { throw .empty }
        self.source = source
        self.blocks = blocks ?? BlockHashes()
    }

    /// The newest checkpoint that a partial file of `fileSize` bytes still covers; `nil` without one.
    public func trusted(fileSize: Int64) -> JournalCheckpoint? {
        let newest = checkpoints.last { $0.length <= fileSize }
        let count = Int(min(Int64(blocks.count), max(0, fileSize) / blocks.blockSize))
        guard count > 0, Int64(count) * blocks.blockSize > newest?.length ?? 0 else { return newest }
        return JournalCheckpoint(length: Int64(count) * blocks.blockSize, sha256: Array(blocks[count - 1]))
    }

    /// A compact list of records with the newest checkpoint.
    public var records: [JournalRecord] {
        var records: [JournalRecord] = [.started(source)]
        guard let checkpoint = checkpoints.last else { return records }
        var noted = 0
        while let part = BlockHashesPart(of: blocks, from: noted) {
            records.append(.checkpoint(checkpoint, part))
            noted = part.end
        }
        if noted == 0 { records.append(.checkpoint(checkpoint, nil)) }
        return records
    }
}

/// Why a journal can't be used.
public enum JournalProblem: Error, Hashable, Sendable {
    /// No record names the source of the bytes.
    case empty
    /// The record with this index can't be decoded.
    case unknownRecord(Int)
}
