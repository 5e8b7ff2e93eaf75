import Foundation
import Glibc
import Testing

@testable import OperatingSystem

/// Blocks of twelve bytes, 1 and their number, and fillers, 2 and their size.
struct BlockFileTests {
    private static func filler(_ size: UInt32) -> (head: UInt64, tail: UInt32) { (2 | UInt64(size) << 32, size) }

    /// A file that `body` writes to.
    private func withFile(_ body: (inout BlockFile, () throws -> [UInt8]) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("squall-block-file-\(UUID())").path
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer {
            close(descriptor)
            unlink(path)
        }
        var file = BlockFile(descriptor, filler: BlockFileTests.filler)
        try body(&file) { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
    }

    private func append(_ numbers: Range<UInt32>, to file: inout BlockFile) throws {
        let words = numbers.flatMap { [UInt32(1), $0, $0] }
        try words.withUnsafeBytes { try file.append($0) }
    }

    /// The numbers of the blocks and the sizes of the fillers, in a file of nothing else.
    private func read(_ bytes: [UInt8]) throws -> (numbers: [UInt32], fillers: [Int]) {
        let words = bytes.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
        var (numbers, fillers): ([UInt32], [Int]) = ([], [])
        var index = 0
        while index < words.count {
            if words[index] == 1 {
                try #require(words[index + 1] == words[index + 2])
                numbers.append(words[index + 1])
                index += 3
            } else {
                let size = Int(words[index + 1])
                try #require(words[index] == 2 && size >= 12 && words[index + size / 4 - 1] == size)
                fillers.append(size)
                index += size / 4
            }
        }
        return (numbers, fillers)
    }

    @Test func `new blocks overwrite the old ones, and the file can be read after each`() throws {
        try withFile { file, content in
            try append(0..<10, to: &file)
            try file.reuse()
            #expect(try read(content()) == ([], [120]))
            for number in UInt32(0)..<12 {
                try append(100 + number..<101 + number, to: &file)
                let left = 108 - 12 * Int(number)
                #expect(try read(content()) == (Array(100...100 + number), left > 0 ? [left] : []))
            }
            try file.reuse()
            try append(7..<9, to: &file)
            try file.trim()
            #expect(try read(content()) == ([7, 8], []) && file.size == 24)
        }
    }

    @Test func `a rest that is too small for a filler is cut off`() throws {
        try withFile { file, content in
            try append(0..<1, to: &file)
            try [UInt32](repeating: 2, count: 2).withUnsafeBytes { try file.append($0) }
            try file.reuse()
            try append(3..<4, to: &file)
            #expect(try read(content()) == ([3], []))
        }
    }

    @Test func `fillers of a large file are of 8 MiB at most, but for one`() throws {
        try withFile { file, content in
            let count = UInt32(20 << 20) / 12
            try append(0..<count, to: &file)
            try file.reuse()
            try append(0..<1_000, to: &file)
            let (numbers, fillers) = try read(content())
            #expect(numbers == Array(0..<1_000) && fillers.allSatisfy { $0 < 8 << 20 + 12 })
            #expect(fillers.reduce(0, +) == Int(count - 1_000) * 12)
        }
    }
}
