import Crypto
import Foundation
import Testing

/// `squall demo` beyond the shipped profiles.
@Suite(.timeLimit(.minutes(1))) struct DemoTests {
    private static let dicey = """
        { "name": "dicey", "faults": [
            { "kind": "cut", "stream": "downstream", "between": ["20 KiB", "180 KiB"], "when": { "connection": "1..3" } } ] }
        """

    @Test func `the same seed sends the same file and resumes at the same offsets, another seed does not`() async throws
    {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("dicey.json").path
            try Data(DemoTests.dicey.utf8).write(to: URL(fileURLWithPath: path))
            func verdict(_ seed: String) async throws -> Event {
                let outcome = try await squall("demo", path, "--size", "600KiB", "--seed", seed, "--events", "json")
                #expect(outcome.status == 0)
                return try #require(try decoded(outcome.lines, as: Event.self).last)
            }
            let first = try await verdict("11")
            let second = try await verdict("11")
            let other = try await verdict("12")
            #expect(first == second)
            #expect(first.resumedAt?.isEmpty == false)
            #expect(first.resumedAt != other.resumedAt)
            #expect(first.sent != other.sent)
        }
    }

    @Test func `without a seed one is chosen and printed, and given back it tells the same story`() async throws {
        let first = try await squall("demo", "first-two-fail", "--size", "200KiB")
        let seed = try #require(first.output.firstMatch(of: /with seed ([0-9]+)/)).output.1
        let digest = try #require(first.output.firstMatch(of: /SHA-256 +([0-9a-f]{64})/)).output.1
        let second = try await squall("demo", "first-two-fail", "--size", "200KiB", "--seed", "\(seed)")
        #expect(second.output.contains(digest))
    }

    @Test func `keep leaves the sent and the received file, which are equal, and nothing else`() async throws {
        try await withFolder { folder in
            let outcome = try await squall(
                "demo",
                "first-two-fail",
                "--size",
                "300KiB",
                "--keep",
                "kept",
                folder: folder
            )
            #expect(outcome.status == 0)
            let kept = folder.appendingPathComponent("kept")
            let sent = try Data(contentsOf: kept.appendingPathComponent("sent/file.bin"))
            let received = try Data(contentsOf: kept.appendingPathComponent("received.bin"))
            #expect(sent.count == 300 << 10)
            #expect(sent == received)
            let digest = SHA256.hash(data: received).map { String(format: "%02x", $0) }.joined()
            #expect(outcome.output.contains("\(digest)  sent"))
            #expect(outcome.output.contains("\(digest)  received"))
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: kept.path).sorted() == ["received.bin", "sent"]
            )
            let again = try await squall("demo", "slow-3g", "--size", "1KiB", "--keep", "kept", folder: folder)
            #expect(again.status == 0, "a folder that a demo has left is used again")
        }
    }

    @Test func `nothing is left of a demo that was interrupted`() async throws {
        try await withFolder { folder in
            let arguments = ["demo", "dead-server", "--size", "1KiB", "--events", "json"]
            try await withChild(Programs.squall, arguments, environment: ["TMPDIR": folder.path]) { child in
                _ = try await child.line(with: "retrying")
                child.signal(SIGINT)
                let outcome = await child.finish()
                #expect(outcome.status == 1)
                #expect(outcome.errors.hasPrefix("squall: the file did not arrive: "))
                #expect(outcome.errorLines.count == 1)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @Test(arguments: ["1B", "2B", "65537B"])
    func `a file of an odd size arrives as well`(size: String) async throws {
        let outcome = try await squall("demo", "first-two-fail", "--size", size)
        #expect(outcome.status == 0)
        #expect(outcome.output.contains("equal: the file arrived byte for byte"))
    }

    @Test func `a folder that can't be written is one line that says why`() async throws {
        let outcome = try await squall("demo", "--size", "1KiB", "--keep", "/proc/none")
        #expect(outcome.status == 1)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains("/proc/none: No such file or directory (errno 2)"))
    }
}
