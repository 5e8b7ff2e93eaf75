import Foundation
import Testing

/// Cuts at an exact byte, as a program that knows nothing of us sees them.
@Suite(.timeLimit(.minutes(1))) struct CutTests {
    private static let offsets = [1_459, 1_460, 1_461, 65_535, 65_536, 65_537, 262_144, 700_001, 1_048_577]

    @Test(arguments: ["close", "reset"])
    func `curl holds exactly the bytes before the cut`(how: String) async throws {
        let list = CutTests.offsets.map { "\"\($0) B\"" }.joined(separator: ", ")
        let profile = """
            { "name": "cuts", "faults": [
                { "kind": "cut", "stream": "downstream", "at": [\(list)], "how": "\(how)" } ] }
            """
        try await withOrigin(size: 1_200_000) { origin in
            let whole = try await answer(of: origin)
            try await withProxy(profile, to: origin) { _, address in
                for offset in CutTests.offsets {
                    let part = try await answer(of: address)
                    #expect(part.count == offset)
                    // The Date field may differ in its seconds; behind the head, all is the file.
                    #expect(part.dropFirst(1_000) == whole.prefix(offset).dropFirst(1_000))
                }
                #expect(try await answer(of: address).count == whole.count, "the list is at its end")
            }
        }
    }

    /// The head and the body that curl gets.
    private func answer(of address: String) async throws -> Data {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("answer")
            _ = try await run("curl", ["-s", "-i", "-o", file.path, "http://\(address)/file.bin"])
            return try Data(contentsOf: file)
        }
    }
}
