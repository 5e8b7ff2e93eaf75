import Units

/// SHA-256 hashes of a file's prefixes: of the first block, the first two, and so on.
///
/// They locate the first block that was damaged on disk and verify its replacement. They cost one hash finalization per
/// block, since the hash of the file is computed anyway.
public struct BlockHashes: Hashable, Sendable {
    /// The initial block size: 1 MiB.
    public static let initialBlockSize: Int64 = 1 << 20
    /// The maximum number of hashes, 16,384. At the limit every second one is dropped and the block size doubles.
    public static let maximumCount = 16_384
    /// The size of a hash in bytes.
    static let hashBytes = 32
    static let maximumBlockSize: Int64 = 1 << 50

    /// The block size in bytes: a power of two.
    public private(set) var blockSize: Int64
    /// The concatenated hashes.
    private(set) var bytes: [UInt8] = []

    /// Makes an empty list. `blockSize` is a power of two, at most 2^50.
    public init(blockSize: Int64 = Self.initialBlockSize) {
        precondition(Self.isBlockSize(blockSize), "A block has a power of two of bytes")
        self.blockSize = blockSize
    }

    static func isBlockSize(_ size: Int64) -> Bool {
        (1...maximumBlockSize).contains(size) && size & (size - 1) == 0
    }

    /// The number of hashes.
    public var count: Int { bytes.count / Self.hashBytes }

    /// The length of the longest hashed prefix.
    public var end: Int64 { Int64(count) * blockSize }

    /// The hash of the prefix of `(index + 1) * blockSize` bytes.
    public subscript(index: Int) -> ArraySlice<UInt8> {
        bytes[(index * Self.hashBytes)..<((index + 1) * Self.hashBytes)]
    }

    /// Appends the hash of the prefix of `end + blockSize` bytes: 32 bytes.
    public mutating func append(_ hash: some Collection<UInt8>) {
        precondition(hash.count == Self.hashBytes, "SHA-256 has 32 bytes")
        bytes += hash
        if count >= Self.maximumCount { coarsen() }
    }

    /// Drops the hashes of prefixes longer than `length`.
    public mutating func truncate(to length: Int64) {
        let kept = Int(min(Int64(count), max(0, length) / blockSize))
        bytes.removeSubrange((kept * Self.hashBytes)...)
    }

    /// Applies hashes that were recorded later; `false` when there is a gap.
    mutating func apply(_ part: BlockHashesPart) -> Bool {
        while blockSize < part.blockSize { coarsen() }
        guard blockSize == part.blockSize, part.first <= count else { return false }
        bytes.removeSubrange((Int(part.first) * Self.hashBytes)...)
        guard bytes.count + part.bytes.count <= Self.maximumCount * Self.hashBytes else { return false }
        bytes += part.bytes
        return true
    }

    private mutating func coarsen() {
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count / 2)
        for index in stride(from: 1, to: count, by: 2) { kept += self[index] }
        bytes = kept
        blockSize *= 2
    }
}

/// A run of consecutive hashes from a `BlockHashes`.
public struct BlockHashesPart: Hashable, Sendable {
    /// The maximum number of hashes in a part: 1,024, so that it fits into a record.
    public static let maximumCount = 1_024

    /// The block size in bytes: a power of two.
    public let blockSize: Int64
    /// The index of the first hash.
    public let first: Int64
    /// The concatenated hashes.
    let bytes: [UInt8]

    /// The hashes from index `first` on, up to the maximum of a part; `nil` when there are none.
    public init?(of hashes: BlockHashes, from first: Int) {
        guard first >= 0, first < hashes.count else { return nil }
        let last = min(hashes.count, first + Self.maximumCount)
        blockSize = hashes.blockSize
        self.first = Int64(first)
        bytes = Array(hashes.bytes[(first * BlockHashes.hashBytes)..<(last * BlockHashes.hashBytes)])
    }

    /// The index after the last hash.
    public var end: Int { Int(first) + bytes.count / BlockHashes.hashBytes }

    var encoded: [UInt8] {
        var encoded: [UInt8] = []
        encoded.appendLittleEndian(UInt64(blockSize))
        encoded.appendLittleEndian(UInt64(first))
        return encoded + bytes
    }

    /// Decodes the output of `encoded`; `nil` for anything else.
    init?(_ encoded: ArraySlice<UInt8>) {
        guard encoded.count > 16, (encoded.count - 16) % BlockHashes.hashBytes == 0,
            let blockSize = Int64(exactly: encoded.prefix(8).littleEndianNumber),
            let first = Int64(exactly: encoded.dropFirst(8).prefix(8).littleEndianNumber),
            BlockHashes.isBlockSize(blockSize), first < BlockHashes.maximumCount
        else { return nil }
        self.blockSize = blockSize
        self.first = first
        bytes = Array(encoded.dropFirst(16))
    }
}
