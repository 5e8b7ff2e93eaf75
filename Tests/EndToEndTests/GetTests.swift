import Digests
import Foundation
import Glibc
import Testing

/// `squall get` and `squall origin`.
@Suite(.timeLimit(.minutes(5))) struct GetTests {
    @Test func `a file arrives under its own name, verified by what the server says`() async throws {
        try await withOrigin(size: 100_000) { origin in
            try await withFolder { folder in
                let outcome = try await squall("get", "http://\(origin)/file.bin", folder: folder)
                #expect(outcome.status == 0)
                #expect(outcome.output.hasPrefix("file.bin: 100,000 bytes in "))
                #expect(outcome.output.contains("(as the server says)"))
                #expect(try Data(contentsOf: folder.appendingPathComponent("file.bin")) == bytes(100_000))
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file.bin"])
            }
        }
    }

    @Test func `an expected digest is checked, and a file that has another is moved aside`() async throws {
        try await withOrigin(size: 5_000) { origin in
            try await withFolder { folder in
                let url = "http://\(origin)/file.bin"
                let digest = SHA256.hash(bytes(5_000)).hexadecimal
                let right = try await squall("get", url, "--sha256", digest, folder: folder)
                #expect(right.status == 0)
                #expect(right.output.contains("(as expected)"))
                let other = String(repeating: "0", count: 64)
                let wrong = try await squall("get", url, "--sha256", other, "-o", "wrong.bin", folder: folder)
                #expect(wrong.status == 1)
                #expect(wrong.errors.contains("is \(digest), and the digest asked for is \(other)"))
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
                #expect(names == [".wrong.bin.squall-mismatch", "file.bin"])
                #expect(wrong.errors.contains(".wrong.bin.squall-mismatch”"), "\(wrong.errors)")
            }
        }
    }

    @Test(arguments: [
        ("ftp://127.0.0.1/file.bin", "ftp"), ("nonsense", "http://"),
        ("http://127.0.0.1:0/file.bin", "port"), ("http://127.0.0.1/", "--output"), ("http:///x", "host"),
    ])
    func `a URL that can't be used is exit 2 and one line that says why`(url: String, word: String) async throws {
        try await withFolder { folder in
            let outcome = try await squall("get", url, folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.hasPrefix("squall: "))
            #expect(outcome.errors.contains(word))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @Test(arguments: ["text", "json"])
    func `a password in a URL is not shown`(format: String) async throws {
        try await withFolder { folder in
            for url in ["http://user:secret@127.0.0.1/x", "http://user:secret/y@127.0.0.1/x"] {
                let outcome = try await squall("get", url, "-o", "x", "--events", format, folder: folder)
                #expect(outcome.status == 2)
                #expect(outcome.errors.contains("http://…@127.0.0.1"))
                #expect(!(outcome.output + outcome.errors).contains("secret"))
                #expect(outcome.output.contains("failed") == (format == "json"))
            }
        }
    }

    @Test func `a FIFO in place of the file is exit 2 with advice, and stays`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withFolder { folder in
                let path = folder.appendingPathComponent("pipe").path
                #expect(mkfifo(path, 0o600) == 0)
                let outcome = try await squall("get", "http://\(origin)/file.bin", "-o", "pipe", folder: folder)
                #expect(outcome.status == 2)
                #expect(outcome.errorLines.count == 1)
                #expect(outcome.errors.contains("“pipe”: it is a FIFO, and only a regular file is replaced; choose"))
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.type] as? FileAttributeType != .typeRegular)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["pipe"])
            }
        }
    }

    @Test func `a dash is neither standard output nor input: exit 2, and how to name such a file`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withFolder { folder in
                let url = "http://\(origin)/file.bin"
                let upload = try await squall("put", "-", url, folder: folder)
                #expect(upload.status == 2)
                #expect(upload.errors == "squall: can't read from standard input; use ./- for a file of that name\n")
                let outcome = try await squall("get", url, "--output", "-", folder: folder)
                #expect(outcome.status == 2)
                #expect(outcome.errors == "squall: can't write to standard output; use ./- for a file of that name\n")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
                #expect(try await squall("get", url, "--output", "./-", folder: folder).status == 0)
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["-"])
            }
        }
    }

    @Test func `an unreachable server is exit 75, one that refuses is exit 1`() async throws {
        try await withFolder { folder in
            try await withProxy("dead-server", to: "127.0.0.1:9", ["--journal", "-"]) { dead, address in
                _ = try await dead.line(with: "refuses")
                let away = try await squall("get", "http://\(address)/x", "--attempts", "1", folder: folder)
                #expect(away.status == 75)
                #expect(away.errorLines.count == 1)
                #expect(away.errors.contains("run it again to continue"))
            }
            try await withOrigin(size: 1) { origin in
                let refused = try await squall("get", "http://\(origin)/missing.bin", folder: folder)
                #expect(refused.status == 1)
                #expect(refused.errors.contains("404"))
            }
        }
    }

    @Test func `standard output has only events as JSON Lines`() async throws {
        try await withOrigin(size: 300_000) { origin in
            try await withProxy("first-two-fail", to: origin) { _, address in
                try await withFolder { folder in
                    let url = "http://\(address)/file.bin"
                    let outcome = try await squall("get", url, "--events", "json", "--seed", "3", folder: folder)
                    #expect(outcome.status == 0)
                    #expect(outcome.errors.isEmpty)
                    let events = try decoded(outcome.lines, as: Event.self)
                    #expect(events.first?.event == "started")
                    #expect(events.count { $0.event == "retrying" } == 2)
                    #expect(events.last?.event == "finished")
                    #expect(events.last?.bytes == 300_000)
                }
            }
        }
    }

    /// The first connection is cut, the second never responds: when the proxy reports it, the client has saved the
    /// bytes of the first.
    private static let cutThenSilent = """
        { "name": "cut-then-silent", "faults": [
            { "kind": "cut", "stream": "downstream", "at": "2 MiB", "how": "reset", "when": { "connection": 1 } },
            { "kind": "stall", "stream": "downstream", "at": "0 B", "for": "1 h", "when": { "connection": 2 } } ] }
        """

    @Test(arguments: [SIGKILL, SIGINT, SIGHUP])
    func `a download that was ended by a signal resumes`(number: Int32) async throws {
        try await withOrigin(size: 3 << 20) { origin in
            try await withProxy(GetTests.cutThenSilent, to: origin, ["--journal", "-"]) { proxy, address in
                try await withFolder { folder in
                    let arguments = ["get", "http://\(address)/file.bin", "--events", "json"]
                    try await withChild(Programs.squall, arguments, folder: folder) { child in
                        _ = try await proxy.line(with: "stalls")
                        child.signal(number)
                        let outcome = await child.finish()
                        #expect(outcome.status == (number == SIGKILL ? 128 + SIGKILL : 75))
                    }
                    #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("file.bin").path))
                    let again = try await squall(arguments, folder: folder)
                    #expect(again.status == 0)
                    let events = try decoded(again.lines, as: Event.self)
                    let held = try #require(events.first?.bytes)
                    #expect(held > 2 << 20 - 4_096 && held < 2 << 20, "all of 2 MiB but the head: \(held)")
                    #expect(try Data(contentsOf: folder.appendingPathComponent("file.bin")) == bytes(3 << 20))
                    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file.bin"])
                }
            }
        }
    }

    @Test(
        .enabled("a full disk takes a mount in a namespace of its own, which this system refuses") {
            try await FullDisk.isPossible()
        }
    )
    func `a full disk is exit 75 and says what to do`() async throws {
        try await withOrigin(size: 3 << 20) { origin in
            try await withFolder { folder in
                let outcome = try await FullDisk.run(
                    Programs.squall.path,
                    ["get", "http://\(origin)/file.bin", "--output", "\(folder.path)/file.bin"],
                    on: folder
                )
                #expect(outcome.status == 75)
                #expect(outcome.errorLines.count == 1)
                #expect(outcome.errors.contains("No space left on device"))
                #expect(outcome.errors.contains("make room and run it again"))
            }
        }
    }

    @Test(arguments: [("/nowhere", "there is no folder"), ("/etc/passwd", "is not a folder")])
    func `origin without a folder is exit 2 and one line`(folder: String, words: String) async throws {
        let outcome = try await squall("origin", folder)
        #expect(outcome.status == 2)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains("“\(folder)”"))
        #expect(outcome.errors.contains(words))
    }

    @Test func `a signal ends origin with exit 0`() async throws {
        try await withFolder { folder in
            try await withChild(Programs.squall, ["origin", folder.path]) { origin in
                let line = try await origin.line(with: "ready: http://127.0.0.1:")
                #expect(line.hasSuffix(" serves \(folder.path)"))
                origin.signal(SIGINT)
                let outcome = await origin.finish()
                #expect(outcome.status == 0)
                #expect(outcome.errors.isEmpty)
            }
        }
    }
}
