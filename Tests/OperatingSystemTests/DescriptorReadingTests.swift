import Foundation
import OperatingSystem
import Testing

/// Reads of file descriptors.
@Suite struct DescriptorReadingTests {
    /// Runs `body` with the descriptor of a new file of these bytes.
    private func withFile(_ bytes: [UInt8], _ body: (Int32) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data(bytes).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        let file = try FileHandle(forReadingFrom: path)
        try body(file.fileDescriptor)
        try file.close()
    }

    @Test func `a file is read up to the limit, and on from there, and then nothing is left`() throws {
        let bytes = (0..<600_001).map { UInt8(truncatingIfNeeded: $0 / 3) }
        try withFile(bytes) { descriptor in
            let parts = try (0..<3).map { _ in try DescriptorReading.bytes(of: descriptor, limit: 600_000) }
            #expect(parts == [Array(bytes.dropLast()), Array(bytes.suffix(1)), []])
        }
    }

    @Test func `a limit of nothing reads nothing`() throws {
        try withFile([1]) { descriptor in
            let bytes = try DescriptorReading.bytes(of: descriptor, limit: 0)
            #expect(bytes.isEmpty)
        }
    }

    @Test func `a failed read is told`() {
        #expect(throws: SystemError.self) { _ = try DescriptorReading.bytes(of: -1, limit: 1) }
    }
}
