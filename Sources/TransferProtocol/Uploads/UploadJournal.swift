/// The append-only journal of an upload, which starts with its creation.
///
/// Numbers are little-endian.
public struct UploadJournal: Hashable, Sendable {
    /// The first eight bytes of the file.
    public static let magic = "SquallUp"
    /// The version that is written, and the only one that can be read: 1.
    public static let version: UInt8 = 1
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

        /// The meaning of the payload.
        public var kind: UInt8 {
            switch self {
            case .creation: 1
            case .completionBegan: 2
            }
        }

        /// The record without its kind.
        public var payload: [UInt8] {
            switch self {
            case .creation(let creation): creation.encoded
            case .completionBegan: []
            }
        }
    }

    /// Parses the records of a journal; `nil` unless the first is a valid creation. Skips unknown kinds.
    public init?(_ records: [(kind: UInt8, payload: [UInt8])]) {
        var creation: Creation?
        var mayBeComplete = false
        for (kind, payload) in records {
            if creation == nil {
                guard kind == 1, let read = Creation(payload[...]) else { return nil }
                creation = read
            }
            if kind == 2 { mayBeComplete = true }
        }
        guard let creation else { return nil }
        self.init(creation: creation, mayBeComplete: mayBeComplete)
    }
}

extension UploadJournal.Creation {
    fileprivate var encoded: [UInt8] {
        var payload: [UInt8] = []
        for text in [target, resource.url.text] {
            payload.appendLittleEndian(UInt32(text.utf8.count))
            payload += Array(text.utf8)
        }
        payload.appendLittleEndian(UInt32(resource.dialect.rawValue))
        payload.appendLittleEndian(UInt64(bitPattern: resource.expiresAt ?? .max))
        for number in [source.length, source.modified, source.changed] {
            payload.appendLittleEndian(UInt64(bitPattern: number))
        }
        payload.appendLittleEndian(source.device)
        payload.appendLittleEndian(source.inode)
        payload += sha256
        return payload
    }

    /// Decodes a payload with a valid checksum; `nil` when this version never wrote it.
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
        guard let target = text(), let url = text().flatMap({ try? TransferURL($0) }),
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
