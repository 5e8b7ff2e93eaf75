import Foundation
import Glibc
import Synchronization
import TestUploadServers
import Testing

/// `squall put`.
@Suite(.timeLimit(.minutes(5))) struct PutTests {
    @Test func `a file arrives, and the output says what verifies it`() async throws {
        try await withUploadServer(.ordinary) { server in
            try await withFolder { folder in
                try bytes(100_000).write(to: folder.appendingPathComponent("file.bin"))
                let outcome = try await squall("put", "file.bin", server.url, "--state", "state", folder: folder)
                #expect(outcome.status == 0)
                #expect(outcome.output.hasPrefix("file.bin: 100,000 bytes in "))
                #expect(outcome.lines.count == 2)
                #expect(outcome.output.contains("(accepted with 201, not verified: the server told no digest)"))
                #expect(server.delivered.map { Data($0) } == [bytes(100_000)])
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/state").isEmpty)
            }
        }
    }

    @Test func `a killed command resumes, also more than once`() async throws {
        let size = 12_000_000
        var habits = UploadServerHabits()
        // Until the last run every request with content hangs.
        let isStuck = Mutex(true)
        habits.stall = { _ in isStuck.withLock { $0 } ? 2_000_000 : nil }
        try await withUploadServer(.nioExtras, habits) { server in
            try await withFolder { folder in
                try bytes(size).write(to: folder.appendingPathComponent("file.bin"))
                let arguments = [
                    "put", "file.bin", server.url, "--state", "state", "--method", "POST", "--dialect", "6",
                    "--events", "json",
                ]
                for sign in ["resumable", "resumed"] {
                    try await withChild(Programs.squall, arguments, folder: folder) { child in
                        _ = try await child.line(with: sign)
                        _ = try await child.line(with: "progress")
                        child.signal(SIGKILL)
                        #expect(await child.finish().status == 128 + SIGKILL)
                    }
                }
                isStuck.withLock { $0 = false }
                let last = try await squall(arguments, folder: folder)
                #expect(last.status == 0, "\(last.errors)")
                #expect(last.lines.first?.contains("\"continued\":true") == true)
                #expect(server.delivered.map { Data($0) } == [bytes(size)])
                #expect(server.requests.filter { $0.method == "POST" }.count == 1)
            }
        }
    }

    @Test func `without a server the exit code is 75, and the line says to run it again`() async throws {
        try await withFolder { folder in
            try bytes(1_000).write(to: folder.appendingPathComponent("file.bin"))
            let outcome = try await squall(
                words: "put file.bin http://127.0.0.1:1/x --state state --attempts 1",
                folder: folder
            )
            #expect(outcome.status == 75)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.contains("run it again to continue"))
        }
    }

    @Test(arguments: [
        ("nonsense", "file.bin", "http://"),
        ("http://127.0.0.1:1/x", "missing.bin", "missing.bin"), ("http://127.0.0.1:1/x", ".", "no regular file"),
        ("http://user:secret@127.0.0.1/x", "file.bin", "leave that out"),
    ])
    func `wrong input is exit 2 and one line that says why`(url: String, file: String, word: String) async throws {
        try await withFolder { folder in
            try bytes(1_000).write(to: folder.appendingPathComponent("file.bin"))
            let outcome = try await squall("put", file, url, "--state", "state", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.hasPrefix("squall: "))
            #expect(outcome.errors.contains(word))
            #expect(!outcome.errors.contains("secret"))
        }
    }

    @Test func `the events are those of the page, with their keys`() async throws {
        let page = try Repository.text("docs/command.md").split(separator: "\n")
        var rows: [String: Set<String>] = [:]
        for line in page {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, cells[1].contains("`put`") else { continue }
            let words = cells.map { $0.matches(of: /`([A-Za-z0-9]+)`/).map { String($0.output.1) } }
            if let event = words[0].first { rows[event] = Set(words[2]) }
        }
        var habits = UploadServerHabits()
        habits.cut = { $0 < 2 ? 200_000 : nil }
        habits.digest = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
        try await withUploadServer(.dialect(.v10), habits) { server in
            try await withFolder { folder in
                try bytes(600_000).write(to: folder.appendingPathComponent("file.bin"))
                try Data().write(to: folder.appendingPathComponent("empty.bin"))
                var seen: Set<String> = []
                for (file, status) in [("file.bin", Int32(1)), ("empty.bin", 0)] {
                    let outcome = try await squall(
                        words: "put \(file) \(server.url) --state state --events json",
                        folder: folder
                    )
                    #expect(outcome.status == status)
                    for line in outcome.lines {
                        let object = try #require(
                            try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                        )
                        let event = try #require(object["event"] as? String)
                        seen.insert(event)
                        // This failure has no response status.
                        let absent: Set<String> = event == "failed" ? ["status"] : []
                        #expect(Set(object.keys).subtracting(["event"]).union(absent) == rows[event], "\(event)")
                    }
                }
                #expect(
                    seen.isSuperset(
                        of: [
                            "started", "resumable", "progress", "resumed", "retrying", "verified", "finished", "failed",
                        ]
                    )
                )
            }
        }
    }
}
