import Crypto
import Foundation
import SystemPackage
import Units

/// The file that the demo sends, and the place where it arrives, in a folder of their own.
struct DemoFiles {
    /// The name under which the origin serves the file.
    static let name = "file.bin"
    private static let blockSize = 1 << 20

    /// The folder that the origin serves.
    let served: String
    /// Where the client writes.
    let received: String
    let size: Int64
    /// The SHA-256 of the file as it was written.
    let sentDigest: [UInt8]
    private let folder: URL
    private let isKept: Bool

    /// Writes a file of `size` bytes that depends on `seed` alone.
    init(size: Int64, seed: UInt64, keptIn keep: String?) throws(CommandFailure) {
        self.size = size
        isKept = keep != nil
        folder =
            keep.map { URL(fileURLWithPath: $0) }
            ?? FileManager.default.temporaryDirectory.appendingPathComponent("squall-demo-\(UUID().uuidString)")
        let sent = folder.appendingPathComponent("sent")
        served = sent.path
        received = folder.appendingPathComponent("received.bin").path
        if isKept { try KeptFolder.prepare(FilePath(folder.path)) }
        do {
            try FileManager.default.createDirectory(at: sent, withIntermediateDirectories: true)
            sentDigest = try DemoFiles.write(to: sent.appendingPathComponent(DemoFiles.name), size: size, seed: seed)
        } catch {
            if !isKept { try? FileManager.default.removeItem(at: folder) }
            throw .failed("can't write the demo's file in \(folder.path): \(FileProblem.reason(error))")
        }
    }

    /// Removes the folder, unless it is to be kept.
    func remove() {
        if !isKept { try? FileManager.default.removeItem(at: folder) }
    }

    /// The SHA-256 of a file, read again from the disk.
    static func digest(ofFile path: String) throws(CommandFailure) -> [UInt8] {
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            var hash = SHA256()
            while let block = try file.read(upToCount: blockSize), !block.isEmpty { hash.update(data: block) }
            return Array(hash.finalize())
        } catch {
            throw .failed("can't read \(path): \(FileProblem.reason(error))")
        }
    }

    private static func write(to url: URL, size: Int64, seed: UInt64) throws -> [UInt8] {
        try Data().write(to: url)
        let file = try FileHandle(forWritingTo: url)
        defer { try? file.close() }
        var generator = SeededGenerator(seed: seed)
        var hash = SHA256()
        var remaining = size
        while remaining > 0 {
            let count = Int(min(remaining, Int64(blockSize)))
            var block = [UInt8]()
            block.reserveCapacity(count + 8)
            while block.count < count {
                var word = generator.next()
                for _ in 0..<8 {
                    block.append(UInt8(truncatingIfNeeded: word))
                    word >>= 8
                }
            }
            let data = Data(block.prefix(count))
            hash.update(data: data)
            try file.write(contentsOf: data)
            remaining -= Int64(count)
        }
        return Array(hash.finalize())
    }
}
