import Digests
import Foundation
import Synchronization
import TestSockets
import Testing

/// The names that `squall get` writes to, what it doesn't fetch again, and what it stores as sent.
@Suite(.timeLimit(.minutes(5))) struct GetOptionTests {
    /// A server of “content”, which records the first lines of its requests.
    private final class NamedFile: Sendable {
        let server: ScriptedServer
        private let lines: LockedLines

        private final class LockedLines: Sendable {
            let lines = Mutex<[String]>([])
        }

        /// The first lines of the requests, in order, without the version.
        var requests: [String] { lines.lines.withLock { $0 } }

        init(_ fields: String...) {
            let lines = LockedLines()
            self.lines = lines
            server = ScriptedServer { _, head, socket in
                let line = String(head.prefix { $0 != "\r\n" }.dropLast(" HTTP/1.1".count))
                lines.lines.withLock { $0.append(line) }
                let all = ["HTTP/1.1 200 OK", "Content-Length: 7"] + fields + ["", ""]
                try socket.send(Array((all.joined(separator: "\r\n") + (line.hasPrefix("GET") ? "content" : "")).utf8))
            }
        }
    }

    private func names(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test(arguments: [
        ("attachment; filename=\"../../name.txt\"", "name.txt"),
        ("attachment; filename=x; filename*=UTF-8''na%C3%AFve.txt", "naïve.txt"),
        ("attachment; filename=.profile", "given"), ("inline", "given"),
    ])
    func `a server may name the file, within the folder`(field: String, name: String) async throws {
        let file = NamedFile("Content-Disposition: \(field)")
        try await withFolder { folder in
            let outcome = try await squall("get", file.server.url + "/given", "--content-disposition", folder: folder)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(try names(in: folder) == [name])
            #expect(file.requests == ["HEAD /given", "GET /given"])
        }
    }

    @Test func `a name of the server's never replaces a file`() async throws {
        let file = NamedFile("Content-Disposition: attachment; filename=Makefile")
        try await withFolder { folder in
            let makefile = folder.appendingPathComponent("Makefile")
            try Data("mine".utf8).write(to: makefile)
            let outcome = try await squall("get", file.server.url + "/x", "--content-disposition", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("“Makefile”, which exists: give --output"))
            #expect(try Data(contentsOf: makefile) == Data("mine".utf8))
            #expect(file.requests == ["HEAD /x"])
        }
    }

    @Test func `a name of the server's never replaces a file that appears during the download`() async throws {
        try await withFolder { folder in
            let makefile = folder.appendingPathComponent("Makefile")
            let server = ScriptedServer { _, head, socket in
                let isGet = head.hasPrefix("GET")
                if isGet { try Data("mine".utf8).write(to: makefile) }
                let fields = "Content-Length: 7\r\nContent-Disposition: attachment; filename=Makefile\r\n\r\n"
                try socket.send(Array(("HTTP/1.1 200 OK\r\n" + fields + (isGet ? "content" : "")).utf8))
            }
            let outcome = try await squall("get", server.url + "/x", "--content-disposition", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("it exists; name it as the output"), "\(outcome.errors)")
            #expect(try Data(contentsOf: makefile) == Data("mine".utf8))
        }
    }

    @Test func `a file of the server's length that isn't older is skipped where that is asked for`() async throws {
        let file = NamedFile("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")
        try await withFolder { folder in
            let here = folder.appendingPathComponent("file")
            try Data("1234567".utf8).write(to: here)
            let skipped = try await squall("get", file.server.url + "/file", "--skip-complete", folder: folder)
            #expect(skipped.status == 0)
            #expect(skipped.output == "file is complete; nothing was fetched\n")
            #expect(file.requests == ["HEAD /file"])
            try Data("123".utf8).write(to: here)
            let fetched = try await squall("get", file.server.url + "/file", "--skip-complete", folder: folder)
            #expect(fetched.status == 0)
            #expect(try Data(contentsOf: here) == Data("content".utf8))
            try Data("1234567".utf8).write(to: here)
            let past = Date(timeIntervalSince1970: 700_000_000)
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: here.path)
            _ = try await squall("get", file.server.url + "/file", "--skip-complete", folder: folder)
            #expect(try Data(contentsOf: here) == Data("content".utf8))
            let undated = NamedFile()
            try Data("1234567".utf8).write(to: here)
            _ = try await squall("get", undated.server.url + "/file", "--skip-complete", folder: folder)
            #expect(try Data(contentsOf: here) == Data("content".utf8))
        }
    }

    @Test func `a digest decides whether a file is skipped, and a proof excludes skipping`() async throws {
        let file = NamedFile("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")
        try await withFolder { folder in
            let here = folder.appendingPathComponent("file")
            try Data("1234567".utf8).write(to: here)
            let url = file.server.url + "/file"
            let proved = try await squall("get", url, "--skip-complete", "--require-proof", folder: folder)
            #expect(proved.status == 2)
            let digest = SHA256.hash(Array("content".utf8)).hexadecimal
            let outcome = try await squall("get", url, "--skip-complete", "--sha256", digest, folder: folder)
            #expect(outcome.status == 0)
            #expect(try Data(contentsOf: here) == Data("content".utf8))
            let told = try await squall("get", url, "--skip-complete", "--events", "json", folder: folder)
            #expect(told.output == "{\"bytes\":7,\"event\":\"skipped\"}\n")
        }
    }

    @Test(arguments: [
        ("/a%20b%2Ec.txt?x=1", "a b.c.txt"), ("/d/%C3%BC", "ü"), ("/a%2Fb", nil), ("/%2e%2E", nil), ("/a%00", nil),
    ])
    func `the name in a URL is decoded`(target: String, name: String?) async throws {
        let file = NamedFile()
        try await withFolder { folder in
            let outcome = try await squall("get", file.server.url + target, folder: folder)
            #expect(outcome.status == (name == nil ? 2 : 0), "\(outcome.errors)")
            #expect(try names(in: folder) == (name.map { [$0] } ?? []))
        }
    }

    @Test func `a coded file is stored as sent where that is asked for, and the message says how`() async throws {
        let file = NamedFile("Content-Encoding: gzip")
        try await withFolder { folder in
            let refused = try await squall("get", file.server.url + "/a.tar.gz", folder: folder)
            #expect(refused.status == 1)
            #expect(refused.errors.contains("--store-coded"))
            #expect(try names(in: folder).isEmpty)
            let stored = try await squall("get", file.server.url + "/a.tar.gz", "--store-coded", folder: folder)
            #expect(stored.status == 0)
            #expect(try Data(contentsOf: folder.appendingPathComponent("a.tar.gz")) == Data("content".utf8))
        }
    }

    @Test func `a tus server is named`() async throws {
        let server = ScriptedServer("HTTP/1.1 412 No\r\nTus-Version: 1.0.0,0.2.2\r\nContent-Length: 0\r\n\r\n")
        try await withFolder { folder in
            try Data("x".utf8).write(to: folder.appendingPathComponent("x"))
            for arguments in [["get", server.url + "/y"], ["put", "x", server.url + "/y"]] {
                let outcome = try await squall(arguments, folder: folder)
                #expect(outcome.status == 1)
                #expect(outcome.errors.contains("answered 412 and speaks tus 1.0.0"), "\(outcome.errors)")
            }
        }
    }

    @Test func `options that exclude each other are exit code 2`() async throws {
        try await withFolder { folder in
            let outcome = try await squall(words: "get http://127.0.0.1:9/x -o y --content-disposition", folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("--output and --content-disposition exclude each other"))
        }
    }
}
