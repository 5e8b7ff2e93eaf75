/// The memory of an upload over a restart: a header, and records that are only ever appended.
///
/// A record is a byte for its kind, four for the length of its payload, the payload, and four for the CRC-32 of all
/// before. Numbers are little-endian. The first record is the creation; a record that was torn by a crash is ignored.
public struct UploadJournal: Hashable, Sendable {
    /// The version that is written, and the only one that is read: 1.
    public static let version: UInt8 = 1
    /// The longest journal that is read: 64 KiB.
    public static let longest: Int64 = 64 << 10
    private static let magic = Array("SquallUp".utf8)
    private static let header = magic + [version]

    /// An upload resource that the server made for a file.
    public struct Creation: Hashable, Sendable {
        /// The URL that was asked to create it.
        public var target: String
        /// The resource.
        public var resource: UploadResource
        /// The file when it was hashed.
        public var source: UploadSource
        /// The SHA-256 of the file: 32 bytes.
        public var sha256: [UInt8]

        /// Makes a creation.
        public init(target: String, resource: UploadResource, source: UploadSource, sha256: [UInt8]) {
            self.target = target
            self.resource = resource
            self.source = source
            self.sha256 = sha256
        }
    }

    /// The upload.
    public var creation: Creation
    /// Whether the last bytes were about to be sent.
    public var mayBeComplete: Bool

    /// Makes a journal.
    public init(creation: Creation, mayBeComplete: Bool = false) {
        self.creation = creation
        self.mayBeComplete = mayBeComplete
    }

    /// The bytes of a journal that begins with `creation`.
    public static func beginning(_ creation: Creation) -> [UInt8] {
        var payload: [UInt8] = []
        for text in [creation.target, creation.resource.url.text] {
            payload.appendLittleEndian(UInt32(text.utf8.count))
            payload += Array(text.utf8)
        }
        payload.appendLittleEndian(UInt32(creation.resource.dialect.rawValue))
        payload.appendLittleEndian(UInt64(bitPattern: creation.resource.expiresAt ?? .max))
        let source = creation.source
        for number in [source.length, source.modified, source.changed] {
            payload.appendLittleEndian(UInt64(bitPattern: number))
        }
        payload.appendLittleEndian(source.device)
        payload.appendLittleEndian(source.inode)
        payload += creation.sha256
        return header + record(1, payload)
    }

    /// The record that the last bytes are about to be sent.
    public static let completionBegan = record(2, [])

    /// Reads the bytes of a journal; `nil` when it is empty, of another version, or without a whole creation.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.longest, bytes.starts(with: Self.header) else { return nil }
        var rest = bytes.dropFirst(Self.header.count)
        guard let first = Self.next(&rest), first.kind == 1, let creation = Creation(first.payload) else { return nil }
        self.creation = creation
        mayBeComplete = false
        // Kinds of later versions are skipped.
        while let record = Self.next(&rest) {
            if record.kind == 2 { mayBeComplete = true }
        }
    }

    private static func record(_ kind: UInt8, _ payload: [UInt8]) -> [UInt8] {
        var record = [kind]
        record.appendLittleEndian(UInt32(payload.count))
        record += payload
        record.appendLittleEndian(JournalChecksum.crc32(record))
        return record
    }

    private static func next(_ rest: inout ArraySlice<UInt8>) -> (kind: UInt8, payload: ArraySlice<UInt8>)? {
        guard rest.count >= 9, let kind = rest.first else { return nil }
        let count = Int(rest.dropFirst().prefix(4).littleEndianNumber)
        guard count <= rest.count - 9 else { return nil }
        let checksum = rest.dropFirst(5 + count).prefix(4).littleEndianNumber
        guard UInt64(JournalChecksum.crc32(rest.prefix(5 + count))) == checksum else { return nil }
        let payload = rest.dropFirst(5).prefix(count)
        rest = rest.dropFirst(9 + count)
        return (kind, payload)
    }
}

extension UploadJournal.Creation {
    /// Reads a payload whose checksum was right; `nil` when this version never wrote it.
    fileprivate init?(_ payload: ArraySlice<UInt8>) {
        var rest = payload
        func number(_ count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).littleEndianNumber
        }
        func text() -> String? {
            guard let count = number(4), count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return String(decoding: rest.prefix(Int(count)), as: UTF8.self)
        }
        guard let target = text(), let url = text().flatMap({ try? DownloadURL($0) }),
            let dialect = number(4).flatMap({ UploadDialect(interopVersion: Int64(clamping: $0)) }),
            let expiry = number(8).map({ Int64(bitPattern: $0) }),
            let length = number(8).map({ Int64(bitPattern: $0) }), length >= 0,
            let modified = number(8), let changed = number(8), let device = number(8), let inode = number(8),
            rest.count == 32
        else { return nil }
        self.init(
            target: target,
            resource: UploadResource(url: url, dialect: dialect, expiresAt: expiry == .max ? nil : expiry),
            source: UploadSource(
                length: length,
                device: device,
                inode: inode,
                modified: Int64(bitPattern: modified),
                changed: Int64(bitPattern: changed)
            ),
            sha256: Array(rest)
        )
    }
}
