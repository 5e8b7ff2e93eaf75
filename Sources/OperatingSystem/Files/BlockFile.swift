import Glibc

/// A file of blocks that can be overwritten in place: pages that a file has cost a tenth of new ones.
///
/// Fillers, blocks that readers skip, cover what is old, so that the file consists of whole blocks between any two calls.
struct BlockFile: Sendable {
    /// A block without content: the bytes that it begins with, and those that it ends with.
    typealias Filler = @Sendable (_ size: UInt32) -> (head: UInt64, tail: UInt32)

    /// The most bytes of a filler, but for the least of another: 8 MiB.
    private static let span: Int64 = 8 << 20
    private static let leastFiller: Int64 = 12
    private static let headSize = 8

    let descriptor: Int32
    let filler: Filler
    /// The bytes of the blocks.
    private(set) var size: Int64 = 0
    /// The bytes of the file. Fillers end there and at whole spans before it.
    private var end: Int64 = 0

    /// A file that is empty.
    init(_ descriptor: Int32, filler: @escaping Filler) { (self.descriptor, self.filler) = (descriptor, filler) }

    /// Makes old what is there.
    mutating func reuse() throws(SystemError) {
        (size, end) = (0, size)
        var start: Int64 = 0
        while start < end { start = try fill(from: start) }
    }

    /// Appends blocks. After an error the file ends in front of them.
    mutating func append(_ blocks: UnsafeRawBufferPointer) throws(SystemError) {
        do throws(SystemError) {
            // Their first bytes replace the head of the filler once everything else is there.
            let head = min(BlockFile.headSize, blocks.count)
            try write(UnsafeRawBufferPointer(rebasing: blocks[head...]), at: size + Int64(head))
            let next = size + Int64(blocks.count)
            if next < end { _ = try fill(from: next) }
            try write(UnsafeRawBufferPointer(rebasing: blocks[..<head]), at: size)
            (size, end) = (next, max(next, end))
        } catch {
            _ = ftruncate(descriptor, off_t(size))
            end = size
            throw error
        }
    }

    /// Ends the file behind its blocks.
    mutating func trim() throws(SystemError) {
        guard ftruncate(descriptor, off_t(size)) == 0 else { throw .last("ftruncate") }
        end = size
    }

    /// Writes the filler that begins at `start`; returns where it ends.
    private mutating func fill(from start: Int64) throws(SystemError) -> Int64 {
        guard end - start >= BlockFile.leastFiller else {
            guard ftruncate(descriptor, off_t(start)) == 0 else { throw .last("ftruncate") }
            end = start
            return end
        }
        let next = end - (end - start - BlockFile.leastFiller) / BlockFile.span * BlockFile.span
        let (head, tail) = filler(UInt32(next - start))
        try withUnsafeBytes(of: head.littleEndian) { bytes throws(SystemError) in try write(bytes, at: start) }
        try withUnsafeBytes(of: tail.littleEndian) { bytes throws(SystemError) in
            try write(bytes, at: next - Int64(bytes.count))
        }
        return next
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = bytes.baseAddress.map { $0 + written }
            let count = pwrite(descriptor, rest, bytes.count - written, off_t(offset) + off_t(written))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .last("pwrite") }
            written += count
        }
    }
}
