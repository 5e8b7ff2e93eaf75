import Foundation
import Testing

/// `squall get` through frequent cuts, and its report about the file.
@Suite(.timeLimit(.minutes(5))) struct GetThroughCutsTests {
    private struct ReportedEvent: Decodable {
        var event: String
        var proof: String?
        var rule: String?
        var seconds: Double?
    }

    private static func cuts(every kibibytes: Int, how: String) -> String {
        """
        { "name": "cuts", "faults": [
            { "kind": "cut", "stream": "downstream", "every": "\(kibibytes) KiB", "how": "\(how)" } ] }
        """
    }

    @Test(arguments: [16, 64, 256], ["reset", "close"])
    func `cuts at every few KiB cost connections and no wait`(kibibytes: Int, how: String) async throws {
        try await withOrigin(size: 1 << 20) { origin in
            try await withProxy(Self.cuts(every: kibibytes, how: how), to: origin) { _, address in
                try await withFolder { folder in
                    let url = "http://\(address)/file.bin"
                    let outcome = try await squall("get", url, "--events", "json", folder: folder)
                    #expect(outcome.status == 0)
                    let events = try decoded(outcome.lines, as: ReportedEvent.self)
                    let retries = events.filter { $0.event == "retrying" }
                    #expect(retries.count >= (1 << 20) / (kibibytes << 10))
                    #expect(retries.allSatisfy { $0.rule == "progress" && $0.seconds == 0 })
                    #expect(try Data(contentsOf: folder.appendingPathComponent("file.bin")) == bytes(1 << 20))
                }
            }
        }
    }

    @Test func `an unverified file causes a warning, or a failure if proof is required`()
        async throws
    {
        // Neither the origin's digest nor the length arrives.
        let profile = """
            { "name": "no-digest", "faults": [ { "kind": "http", "answer": {
                "status": 200, "header": { "Content-Type": "text/plain" }, "body": "all there is" } } ] }
            """
        try await withOrigin(size: 1) { origin in
            try await withProxy(profile, to: origin) { _, address in
                try await withFolder { folder in
                    let url = "http://\(address)/file.bin"
                    let outcome = try await squall("get", url, folder: folder)
                    #expect(outcome.status == 0)
                    #expect(outcome.output.contains("(not proved)"))
                    #expect(outcome.errors.contains("file.bin is complete as far as HTTP can tell, and not proved: "))
                    let told = try await squall("get", url, "--events", "json", folder: folder)
                    #expect(try decoded(told.lines, as: ReportedEvent.self).last?.proof == "one-response")
                    let demanded = try await squall(
                        words: "get \(url) --require-proof -o other.bin --events json",
                        folder: folder
                    )
                    #expect(demanded.status == 1)
                    #expect(demanded.errors.contains("and not proved: "))
                    #expect(demanded.errors.contains("--sha256"))
                    #expect(try decoded(demanded.lines, as: ReportedEvent.self).last?.proof == "one-response")
                    #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("other.bin").path))
                }
            }
            try await withFolder { folder in
                let proved = try await squall("get", "http://\(origin)/file.bin", "--require-proof", folder: folder)
                #expect(proved.status == 0)
                #expect(proved.errors.isEmpty)
            }
        }
    }
}
