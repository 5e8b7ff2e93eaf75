import Testing
import Units

@testable import FaultProfile

@Suite struct MutationTests {
    /// What mutations put in: pieces of the format, and bytes that break it.
    private static let pieces: [[UInt8]] =
        [
            "{", "}", "[", "]", ":", ",", "\"", "'", "\\", "\\u", "\\uD83D", "//", "/*", "*/", "#", "-", ".", "..",
            "e9", "%",
            "null", "true", "0", "99999999999999999999", " ms", "\n", "\r\n", "\t", "\u{FEFF}", "é", "\"kind\"",
            "\"at\": ",
            "\"when\": {", "\"extends\": \"self\",",
        ].map { Array($0.utf8) } + [[0], [0xFF], [0xC3], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80]]

    private func mutated(_ original: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = original
        for _ in 0...(generator.next() % 4) {
            let start = Int(generator.next() % UInt64(bytes.count + 1))
            let end = min(bytes.count, start + Int(generator.next() % 12))
            switch generator.next() % 4 {
            case 0: bytes.removeSubrange(start..<end)
            case 1:
                bytes.replaceSubrange(start..<start, with: MutationTests.pieces.randomElement(using: &generator) ?? [])
            case 2:
                bytes.replaceSubrange(start..<end, with: MutationTests.pieces.randomElement(using: &generator) ?? [])
            default: bytes.insert(contentsOf: bytes[start..<end], at: Int(generator.next() % UInt64(bytes.count + 1)))
            }
        }
        return bytes
    }

    /// Reads bytes as a profile that may extend itself, and checks what any answer must fulfil.
    private func check(_ bytes: [UInt8]) {
        let source = ProfileSource(file: "mutant", bytes: bytes)
        do {
            _ = try ProfileReader.profile(from: source) { _ in .success(source) }
        } catch {
            #expect(!error.problems.isEmpty && error.problems.count <= ProfileProblems.limit)
            let lineCount = String(decoding: bytes, as: UTF8.self).unicodeScalars.count { $0 == "\n" || $0 == "\r" } + 1
            for problem in error.problems {
                #expect(problem.line >= 1 && problem.line <= lineCount && problem.column >= 1)
                #expect(!problem.what.isEmpty && !problem.remedy.isEmpty)
                #expect(!problem.description.unicodeScalars.contains { $0.isLineEnd })
            }
        }
    }

    @Test(arguments: Repository.shippedProfiles)
    func `a mutated profile is read or refused, and never more`(name: String) throws {
        let original = try Repository.bytes(of: "Profiles/\(name).json")
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<300 { check(mutated(original, &generator)) }
    }

    @Test func `random bytes are read or refused, and never more`() {
        var generator = SeededGenerator(seed: 12)
        for length in 0..<500 {
            check((0..<length).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
            var text: [UInt8] = []
            while text.count < length { text += MutationTests.pieces.randomElement(using: &generator) ?? [] }
            check(text)
        }
    }

    @Test func `every prefix of a profile is refused with a place in it`() throws {
        let original = try Repository.bytes(of: "Profiles/first-two-fail.json")
        let end = try #require(original.lastIndex(of: UInt8(ascii: "}")))
        for length in 0...end {
            let source = ProfileSource(file: "prefix", bytes: Array(original.prefix(length)))
            #expect(throws: ProfileProblems.self) { try ProfileReader.profile(from: source) }
            check(source.bytes)
        }
    }
}
