import Digests
import DurableFiles
import NIOCore
import SystemPackage
import TransferProtocol

/// The content of an upload: a file, bytes in memory, or a spooled stream.
///
/// It can be read at any offset, any number of times. Its file is closed with the last copy.
public struct UploadContent: Sendable {
    enum Kind: Sendable {
        case file(UploadSourceFile)
        case hashed(HashedContent)
    }

    let kind: Kind

    /// The length in bytes.
    public var length: Int64 { identity.length }

    /// The SHA-256 of bytes in memory or of a stream: 32 bytes. `nil` for a file, which is hashed when it is uploaded.
    public var sha256: [UInt8]? { if case .hashed(let content) = kind { content.sha256 } else { nil } }

    /// The identity in the journal. Only a file has more than a length.
    var identity: UploadSource {
        switch kind {
        case .file(let file): file.identity
        case .hashed(let content): .unnamed(length: content.length)
        }
    }

    /// The key in the journal's name: the resolved path of a file; digest and length of other content. They can't
    /// collide, since paths start with a slash.
    var key: String {
        switch kind {
        case .file(let file): file.canonicalPath
        case .hashed(let content): "sha-256=\(content.sha256.hexadecimal) \(length)"
        }
    }

    /// The name in messages.
    var name: String {
        switch kind {
        case .file(let file): file.path.string
        case .hashed(let content): content.name
        }
    }

    /// The bytes of `range`, at most `UploadSourceFile.maximumReadSize`. Throws when a file is shorter.
    func read(_ range: Range<Int64>) async throws(TransferError) -> ByteBuffer {
        let end = min(range.upperBound, range.lowerBound + Int64(UploadSourceFile.maximumReadSize))
        let range = range.lowerBound..<end
        switch kind {
        case .file(let file): return try await file.read(range)
        case .hashed(let content): return ByteBuffer(bytes: try await content.read(range))
        }
    }

    /// Throws when a file has changed since it was opened. Other content can't change.
    func checkUnchanged() throws(TransferError) {
        if case .file(let file) = kind { try file.checkUnchanged() }
    }
}

/// Content without a name of its own: bytes in memory, or a spooled stream.
struct HashedContent: Sendable {
    /// What it is, in messages.
    let name: String
    let length: Int64
    /// The SHA-256: 32 bytes.
    let sha256: [UInt8]
    let read: @Sendable (Range<Int64>) async throws(TransferError) -> ArraySlice<UInt8>

    /// The number of bytes hashed between checks for cancellation: 8 MiB.
    private static let hashedAtOnce = 8 << 20

    /// Hashes bytes, which aren't copied.
    init(_ bytes: [UInt8], _ worker: FileWorker) async throws(TransferError) {
        var hasher = SHA256()
        var offset = 0
        while offset < bytes.count {
            guard !Task.isCancelled else { throw .cancelled }
            let range = offset..<min(bytes.count, offset + Self.hashedAtOnce)
            hasher = try await worker.run { [hasher] in
                var hasher = hasher
                hasher.update(bytes[range])
                return hasher
            }
            offset = range.upperBound
        }
        name = "bytes in memory"
        length = Int64(bytes.count)
        sha256 = hasher.finalize()
        read = { bytes[Int($0.lowerBound)..<Int($0.upperBound)] }
    }

    /// A stream in an unnamed file, which is closed with the last copy of this value.
    init(_ file: any OpenFile, in folder: FilePath, length: Int64, sha256: [UInt8], _ worker: FileWorker) {
        let file = ClosingFile(file)
        name = "stream"
        self.length = length
        self.sha256 = sha256
        read = { range async throws(TransferError) in
            let bytes = try await worker.run { try file.file.read(range.count, at: range.lowerBound) }
            // The file is private, so a short read is a disk error.
            guard bytes.count == range.count else { throw .fileSystem(call: "pread", path: folder.string, .ioError) }
            return bytes[...]
        }
    }

    /// Closes a file when it is released.
    private final class ClosingFile: Sendable {
        let file: any OpenFile

        init(_ file: any OpenFile) { self.file = file }

        deinit { file.close() }
    }
}

extension UploadSource {
    /// The identity of content without a file.
    fileprivate static func unnamed(length: Int64) -> UploadSource {
        UploadSource(length: length, device: 0, inode: 0, modified: 0, changed: 0)
    }
}

extension UploadContent {
    /// Reads the content, and throws `digestDiffers` unless it has a SHA-256.
    package func check(_ named: [UInt8]) async throws(TransferError) {
        let actual: [UInt8]
        switch kind {
        case .hashed(let content): actual = content.sha256
        case .file(let file): actual = try await file.sha256()
        }
        guard actual == named else { throw .digestDiffers(named: named, actual: actual) }
    }
}
