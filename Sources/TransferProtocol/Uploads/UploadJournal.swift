import Units

/// The append-only journal of an upload, which starts with its creation.
///
/// Numbers are little-endian.
public struct UploadJournal: Hashable, Sendable {
    /// The first eight bytes of the file.
    public static let magic = "SquallPu"
    /// The version that is written.
    public static let version: UInt8 = 2
    /// The maximum size of a journal: 64 KiB.
    public static let maximumSize: Int64 = 64 << 10

    /// An upload resource that was created for a file.
    public struct Creation: Hashable, Sendable {
        /// The target URL.
        public var target: String
        /// The resource.
        public var resource: UploadResource
        /// The identity of the file when it was hashed.
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
    /// Whether sending of the last bytes had begun.
    public var mayBeComplete: Bool

    /// Makes a journal.
    public init(creation: Creation, mayBeComplete: Bool = false) {
        self.creation = creation
        self.mayBeComplete = mayBeComplete
    }

    /// A record of a journal.
    public enum Record: Hashable, Sendable {
        /// The server made a resource.
        case creation(Creation)
        /// The last bytes are about to be sent.
        case completionBegan
        /// A server of another origin than the target's chose the URL of the resource.
        case leftOrigin

        /// The meaning of the payload.
        public var kind: UInt8 {
            switch self {
            case .creation: 3
            case .completionBegan: 2
            case .leftOrigin: 4
            }
        }

        /// The record without its kind.
        public var payload: [UInt8] {
            switch self {
            case .creation(let creation): creation.encoded
            case .completionBegan, .leftOrigin: []
            }
        }
    }

    /// The records of a journal.
    public var records: [Record] {
        [.creation(creation)] + (creation.resource.hasLeftOrigin ? [.leftOrigin] : [])
            + (mayBeComplete ? [.completionBegan] : [])
    }

    /// Parses the records of a journal. Skips unknown kinds.
    public init(_ records: [(kind: UInt8, payload: [UInt8])]) throws(UploadJournalProblem) {
        guard let first = records.first, first.kind == 3 else { throw .damaged }
        var creation = try Creation(first.payload[...])
        creation.resource.hasLeftOrigin = records.contains { $0.kind == 4 }
        self.init(creation: creation, mayBeComplete: records.contains { $0.kind == 2 })
    }
}

/// Why the journal of an upload can't be used.
public enum UploadJournalProblem: Error, Hashable, Sendable {
    /// The first record is no valid creation.
    case damaged
    /// The upload is in a dialect of this name, which isn't known.
    case unknownDialect(String)
}

extension UploadJournal.Creation {
    fileprivate var encoded: [UInt8] {
        var payload: [UInt8] = []
        for text in [target, resource.url.text, resource.dialect.rawValue] {
            payload.appendLittleEndian(UInt32(text.utf8.count))
            payload += Array(text.utf8)
        }
        payload.appendLittleEndian(UInt64(bitPattern: resource.expiresAt ?? .max))
        for number in [source.length, source.modified, source.changed] {
            payload.appendLittleEndian(UInt64(bitPattern: number))
        }
        payload.appendLittleEndian(source.device)
        payload.appendLittleEndian(source.inode)
        payload += sha256
        return payload
    }

    /// Decodes a payload with a valid checksum.
    fileprivate init(_ payload: ArraySlice<UInt8>) throws(UploadJournalProblem) {
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
        guard let target = text(), let url = text().flatMap({ try? TransferURL($0) }), let name = text(),
            let expiry = number(8).map({ Int64(bitPattern: $0) }),
            let length = number(8).map({ Int64(bitPattern: $0) }), length >= 0,
            let modified = number(8), let changed = number(8), let device = number(8), let inode = number(8),
            rest.count == 32
        else { throw .damaged }
        guard let dialect = UploadWireFormat(rawValue: name) else { throw .unknownDialect(name) }
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
