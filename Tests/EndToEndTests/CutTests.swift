import Foundation
import Testing

/// Cuts at exact offsets, as seen by an independent program.
@Suite(.timeLimit(.minutes(5))) struct CutTests {
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
                    // Only the Date field may differ; the content is the file.
                    #expect(part.dropFirst(1_000) == whole.prefix(offset).dropFirst(1_000))
                }
                #expect(try await answer(of: address).count == whole.count, "the list is at its end")
            }
        }
    }

    @Test func `two connections fail at 64 KB, the third stalls for 2 s, then all is well`() async throws {
        let profile = """
            { "name": "heals-on-third-try",
              "faults": [
                { "kind": "cut", "stream": "downstream", "at": "64 KB", "when": { "connection": "1..2" } },
                { "kind": "stall", "stream": "downstream", "at": "64 KB", "for": "2 s", "when": { "connection": 3 } }
              ] }
            """
        struct Line: Decodable, Hashable {
            var connection: Int?
            var fault: String?
            var offset: Int?
            var what: String?
        }
        try await withOrigin(size: 300_000) { origin in
            try await withFolder { folder in
                let journal = folder.appendingPathComponent("journal.jsonl").path
                try await withProxy(profile, to: origin, ["--journal", journal]) { _, address in
                    var counts: [Int] = []
                    var times: [Duration] = []
                    for _ in 1...4 {
                        let start = ContinuousClock.now
                        counts.append(try await answer(of: address).count)
                        times.append(start.duration(to: .now))
                    }
                    #expect(counts[0] == 64_000 && counts[1] == 64_000)
                    #expect(counts[2] > 300_000 && counts[3] == counts[2])
                    #expect(times[2] >= .seconds(2))
                }
                let text = try String(contentsOfFile: journal, encoding: .utf8)
                let lines = try text.split(separator: "\n").dropFirst().map {
                    try JSONDecoder().decode(Line.self, from: Data($0.utf8))
                }
                #expect(
                    lines == [
                        Line(connection: 1, fault: "cut", offset: 64_000, what: "resets"),
                        Line(connection: 2, fault: "cut", offset: 64_000, what: "resets"),
                        Line(connection: 3, fault: "stall", offset: 64_000, what: "stalls"),
                    ]
                )
            }
        }
    }

    /// The head and body that curl receives.
    private func answer(of address: String) async throws -> Data {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("answer")
            _ = try await run("curl", ["-s", "-i", "-o", file.path, "http://\(address)/file.bin"])
            return try Data(contentsOf: file)
        }
    }
}
