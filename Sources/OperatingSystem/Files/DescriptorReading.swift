import Glibc

/// A file that is read part by part.
public final class FileParts: Sendable {
    private let descriptor: Int32

    /// Opens the file at `path`.
    ///
    /// - Throws: `SystemError` of open(2).
    public init(path: String) throws(SystemError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { throw .last("open") }
    }

    deinit { close(descriptor) }

    /// The bytes of the file.
    public var size: Int64 {
        var facts = stat()
        return fstat(descriptor, &facts) == 0 ? Int64(facts.st_size) : 0
    }

    /// The next 64 KiB; fewer at the end, and `nil` behind it or after an error.
    public func next() -> [UInt8]? {
        let part = try? DescriptorReading.bytes(of: descriptor, limit: 64 << 10)
        return part.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Reads of file descriptors into arrays.
public enum DescriptorReading {
    /// The size of a call of read(2).
    private static let blockSize = 256 << 10

    /// The bytes of a file from the position of its descriptor on, `limit` at most; fewer only at the end of the file.
    ///
    /// Memory grows with what is read, not with the limit. An interrupted call is repeated.
    ///
    /// - Throws: `SystemError` of read(2).
    public static func bytes(of descriptor: Int32, limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let wanted = min(limit - bytes.count, blockSize)
            var failure: SystemError?
            let block = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
                var result = read(descriptor, buffer.baseAddress, wanted)
                while result < 0, errno == EINTR { result = read(descriptor, buffer.baseAddress, wanted) }
                if result < 0 { failure = .last("read") }
                count = max(0, result)
            }
            if let failure { throw failure }
            if block.isEmpty { break }
            bytes += block
        }
        return bytes
    }
}
