import Digests
import TransferProtocol

/// The SHA-256 of a growing file, with the hashes of its prefixes.
struct PrefixHasher: Sendable {
    private var sha256 = SHA256()
    /// The bytes hashed.
    private(set) var length: Int64 = 0
    /// The hashes of the prefixes up to `length`.
    private(set) var blocks: BlockHashes

    init(blockSize: Int64) { blocks = BlockHashes(blockSize: blockSize) }

    /// The hash of all bytes so far: 32 bytes.
    var digest: [UInt8] { sha256.finalize() }

    /// Hashes the next bytes of the file.
    mutating func update(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let room = blocks.end + blocks.blockSize - length
            let piece = rest.prefix(Int(min(room, Int64(rest.count))))
            sha256.update(piece)
            length += Int64(piece.count)
            rest = rest.dropFirst(piece.count)
            if length == blocks.end + blocks.blockSize { blocks.append(digest) }
        }
    }
}
