import Units

/// The format of an append-only file of records.
///
/// The file starts with eight magic bytes and a version byte. A record is a kind byte, a four-byte payload length, the
/// payload, and the CRC-32 of all of these. Numbers are little-endian.
public struct RecordLog: Hashable, Sendable {
    /// One record.
    public struct Record: Hashable, Sendable {
        /// The meaning of the payload. Readers skip unknown kinds.
        public let kind: UInt8
        /// The payload, at most `RecordLog.maximumPayloadSize` bytes.
        public let payload: [UInt8]

        /// Makes a record. Traps when the payload is too long.
        public init(kind: UInt8, payload: [UInt8]) {
            precondition(payload.count <= RecordLog.maximumPayloadSize, "A record has a payload of 64 KiB at most")
            self.kind = kind
            self.payload = payload
        }

        /// The bytes of the record.
        public var encoded: [UInt8] {
            var bytes: [UInt8] = [kind]
            bytes.appendLittleEndian(UInt32(payload.count))
            bytes += payload
            bytes.appendLittleEndian(CRC32.checksum(of: bytes))
            return bytes
        }
    }

    /// Why a file can't be used as a log.
    public enum Problem: Error, Hashable, Sendable {
        /// The file isn't a log with this magic.
        case foreign
        /// A newer version wrote the file. It must be left alone.
        case newerVersion(UInt8)
        /// A record in the middle is damaged, so durable records are lost.
        case damaged(offset: Int)
    }

    /// The maximum size of a payload: 64 KiB.
    public static let maximumPayloadSize = 64 << 10
    /// The size of a record without its payload.
    static let overhead = 9

    /// The magic bytes of the log: eight.
    public let magic: [UInt8]
    /// The version that is written, and the newest that can be read.
    public let version: UInt8

    /// Makes the format of a log. `magic` has eight bytes.
    public init(magic: String, version: UInt8) {
        precondition(magic.utf8.count == 8, "The purpose of a log has eight bytes")
        self.magic = Array(magic.utf8)
        self.version = version
    }

    /// The first bytes of a file.
    public var header: [UInt8] { magic + [version] }

    /// The bytes of a file with these records.
    public func encoded(_ records: [Record]) -> [UInt8] {
        records.reduce(into: header) { $0 += $1.encoded }
    }

    /// The result of reading a file.
    public struct Contents: Hashable, Sendable {
        /// The version that wrote the file.
        public let version: UInt8
        /// The records in the order they were written.
        public let records: [Record]
        /// The length of the valid prefix in bytes. An incomplete record starts here.
        public let validLength: Int
    }

    /// Parses the bytes of a file.
    ///
    /// An incomplete last record, as a crash leaves it, is dropped. A damaged record with a valid one after it is
    /// corruption: each record is durable before the next is written.
    public func read(_ bytes: [UInt8]) throws(Problem) -> Contents {
        guard bytes.count >= header.count, bytes.starts(with: magic) else { throw .foreign }
        guard bytes[magic.count] <= version else { throw .newerVersion(bytes[magic.count]) }
        guard bytes[magic.count] > 0 else { throw .foreign }
        var records: [Record] = []
        var position = header.count
        while let (record, end) = Self.record(in: bytes, at: position) {
            records.append(record)
            position = end
        }
        let damaged = position..<bytes.count
        if damaged.dropFirst().contains(where: { Self.record(in: bytes, at: $0) != nil }) {
            throw .damaged(offset: position)
        }
        return Contents(version: bytes[magic.count], records: records, validLength: position)
    }

    /// The record at `position` and the offset after it; `nil` when there is no complete one.
    private static func record(in bytes: [UInt8], at position: Int) -> (Record, Int)? {
        guard bytes.count - position >= overhead, bytes[position] != 0 else { return nil }
        let count = Int(bytes[(position + 1)..<(position + 5)].littleEndianNumber)
        guard count <= maximumPayloadSize, bytes.count - position >= overhead + count else { return nil }
        let body = bytes[position..<(position + 5 + count)]
        let end = position + overhead + count
        guard UInt64(CRC32.checksum(of: body)) == bytes[(end - 4)..<end].littleEndianNumber else { return nil }
        return (Record(kind: bytes[position], payload: Array(body.dropFirst(5))), end)
    }
}
