import Digests
import NIOCore
import SystemPackage
import TransferProtocol

/// The content of an upload: a file, bytes in memory, or a spooled stream.
///
/// It can be read at any offset, any number of times. Its file is closed with the last copy.
public struct UploadContent: Sendable {
    enum Kind: Sendable {
        case file(UploadSourceFile)
        case memory(InMemoryContent)
        case spool(SpooledContent)
    }

    let kind: Kind

    /// The length in bytes.
    public var length: Int64 { identity.length }

    /// The SHA-256 of bytes in memory or of a stream: 32 bytes. `nil` for a file, which is hashed when it is uploaded.
    public var sha256: [UInt8]? {
        switch kind {
        case .file: nil
        case .memory(let memory): memory.sha256
        case .spool(let spool): spool.sha256
        }
    }

    /// The identity in the journal. Only a file has more than a length.
    var identity: UploadSource {
        switch kind {
        case .file(let file): file.identity
        case .memory(let memory): .unnamed(length: Int64(memory.bytes.count))
        case .spool(let spool): .unnamed(length: spool.length)
        }
    }

    /// The key in the journal's name: the resolved path of a file; digest and length of other content. They can't
    /// collide, since paths start with a slash.
    var key: String {
        switch kind {
        case .file(let file): file.canonicalPath
        case .memory(let memory): "sha-256=\(memory.sha256.hexadecimal) \(length)"
        case .spool(let spool): "sha-256=\(spool.sha256.hexadecimal) \(length)"
        }
    }

    /// The name in messages.
    var name: String {
        switch kind {
        case .file(let file): file.path.string
        case .memory: "bytes in memory"
        case .spool: "stream"
        }
    }

    /// The bytes of `range`, at most `UploadSourceFile.maximumReadSize`. Throws when a file is shorter.
    func read(_ range: Range<Int64>) async throws(TransferError) -> ByteBuffer {
        let end = min(range.upperBound, range.lowerBound + Int64(UploadSourceFile.maximumReadSize))
        let range = range.lowerBound..<end
        switch kind {
        case .file(let file): return try await file.read(range)
        case .memory(let memory): return memory.read(range)
        case .spool(let spool): return try await spool.read(range)
        }
    }

    /// Throws when a file has changed since it was opened. Other content can't change.
    func checkUnchanged() throws(TransferError) {
        switch kind {
        case .file(let file): try file.checkUnchanged()
        case .memory, .spool: return
        }
    }
}

extension UploadSource {
    /// The identity of content without a file.
    fileprivate static func unnamed(length: Int64) -> UploadSource {
        UploadSource(length: length, device: 0, inode: 0, modified: 0, changed: 0)
    }
}
