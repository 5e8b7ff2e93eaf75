/// What the journal beside a partial file tells.
public struct Journal: Hashable, Sendable {
    /// The version that is written, and the only one that is read: 1.
    public static let version: UInt8 = 1
    /// The longest journal that is read: 64 MiB, the checkpoints of some ten TiB.
    public static let longest: Int64 = 64 << 20
    private static let magic = Array("SquallDl".utf8)

    /// The first bytes of a journal.
    public static let header = magic + [version]

    /// Where the partial file's bytes come from.
    public private(set) var source: JournalSource
    /// The checkpoints since the file started over, in the order of their writing.
    public private(set) var checkpoints: [JournalCheckpoint] = []
    /// How many bytes of the journal are good; a record that was torn by a crash begins here, and is to be cut off
    /// before the next one is appended.
    public private(set) var validLength: Int

    /// Reads the bytes of a journal.
    ///
    /// A last record that is torn or fails its checksum is ignored, and all after it. Fails when nothing usable is
    /// left: the transfer then starts over.
    public init(_ bytes: [UInt8]) throws(JournalProblem) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.starts(with: Self.magic), bytes.count >= Self.header.count else { throw .notAJournal }
        let version = bytes[Self.magic.count]
        guard version == Self.version else { throw .unknownVersion(version) }
        var source: JournalSource?
        var position = Self.header.count
        while let (record, end) = try Self.record(in: bytes, at: position) {
            switch record {
            case .started(let new):
                source = new
                checkpoints.removeAll()
            case .learned(let new): source = new
            case .checkpoint(let checkpoint): checkpoints.append(checkpoint)
            }
            position = end
        }
        guard let source else { throw .empty }
        self.source = source
        validLength = position
    }

    /// The newest checkpoint that a partial file of `fileSize` bytes can still keep, or `nil` when none can.
    public func trusted(fileSize: Int64) -> JournalCheckpoint? {
        checkpoints.last { $0.length <= fileSize }
    }

    /// The record at `position` and the offset behind it, or `nil` when no whole one is there.
    private static func record(in bytes: [UInt8], at position: Int) throws(JournalProblem) -> (JournalRecord, Int)? {
        let rest = bytes[position...]
        guard rest.count >= 9 else { return nil }
        let count = Int(rest.dropFirst().prefix(4).littleEndianNumber)
        guard count <= JournalRecord.longestPayload, rest.count >= 9 + count else { return nil }
        let body = rest.prefix(5 + count)
        let checksum = rest.dropFirst(5 + count).prefix(4).littleEndianNumber
        guard UInt64(JournalChecksum.crc32(body)) == checksum else { return nil }
        guard let kind = body.first, let record = JournalRecord(kind: kind, payload: body.dropFirst(5)) else {
            throw .unknownRecord(offset: position)
        }
        return (record, position + 9 + count)
    }
}

/// Why a journal can't be used.
public enum JournalProblem: Error, Hashable, Sendable {
    /// There is no whole record.
    case empty
    /// The file is something else.
    case notAJournal
    /// Another version wrote it.
    case unknownVersion(UInt8)
    /// A record of sound bytes makes no sense.
    case unknownRecord(offset: Int)
}
