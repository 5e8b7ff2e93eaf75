import Units

/// The origin of a partial file's bytes.
public struct JournalSource: Hashable, Sendable {
    /// The requested URL.
    public var url: String
    /// The URL that responded, after redirects.
    public var finalURL: String
    /// The representation that the bytes are a prefix of.
    public var representation: DownloadRepresentation

    /// Makes a source.
    public init(url: String, finalURL: String, representation: DownloadRepresentation) {
        self.url = url
        self.finalURL = finalURL
        self.representation = representation
    }
}

/// A durable prefix of a partial file.
public struct JournalCheckpoint: Hashable, Sendable {
    /// The length in bytes.
    public var length: Int64
    /// The SHA-256 of the first `length` bytes: 32 bytes.
    public var sha256: [UInt8]

    /// Makes a checkpoint. Returns `nil` when `length` is negative or `sha256` isn't 32 bytes.
    public init?(length: Int64, sha256: [UInt8]) {
        guard length >= 0, sha256.count == 32 else { return nil }
        self.length = length
        self.sha256 = sha256
    }
}

/// A record of the append-only journal next to a partial file.
///
/// Numbers are little-endian.
public enum JournalRecord: Hashable, Sendable {
    /// The partial file restarts, empty, with this source.
    case started(JournalSource)
    /// The source's metadata was updated; the bytes stay.
    case updated(JournalSource)
    /// The partial file is durable up to here. The hashes are of prefixes up to there.
    case checkpoint(JournalCheckpoint, BlockHashesPart?)

    /// The known kinds.
    static let kinds: ClosedRange<UInt8> = 1...3
    /// The maximum size of a payload: 64 KiB.
    static let maximumPayloadSize = 64 << 10
    private static let checkpointBytes = 40

    /// The meaning of the payload.
    public var kind: UInt8 {
        switch self {
        case .started: 1
        case .updated: 2
        case .checkpoint: 3
        }
    }

    /// The record without its kind. Source fields that don't fit are dropped, longest first.
    public var payload: [UInt8] {
        switch self {
        case .started(let source), .updated(let source): return JournalFields.encode(source)
        case .checkpoint(let checkpoint, let part):
            var payload: [UInt8] = []
            payload.appendLittleEndian(UInt64(checkpoint.length))
            return payload + checkpoint.sha256 + (part?.encoded ?? [])
        }
    }

    /// Decodes a payload with a valid checksum; `nil` when no version up to this one wrote it.
    public init?(kind: UInt8, payload: ArraySlice<UInt8>) {
        switch kind {
        case 1, 2:
            guard let source = JournalFields.decode(payload) else { return nil }
            self = kind == 1 ? .started(source) : .updated(source)
        case 3:
            let sha256 = Array(payload.dropFirst(8).prefix(32))
            guard let length = Int64(exactly: payload.prefix(8).littleEndianNumber),
                let checkpoint = JournalCheckpoint(length: length, sha256: sha256)
            else { return nil }
            let rest = payload.dropFirst(Self.checkpointBytes)
            guard !rest.isEmpty else {
                self = .checkpoint(checkpoint, nil)
                return
            }
            guard let part = BlockHashesPart(rest) else { return nil }
            self = .checkpoint(checkpoint, part)
        default: return nil
        }
    }
}
