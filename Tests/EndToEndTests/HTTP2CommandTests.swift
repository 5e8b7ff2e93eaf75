import Foundation
import Testing

/// `squall origin` over HTTP/2, with curl.
@Suite(.timeLimit(.minutes(2))) struct HTTP2CommandTests {
    /// Runs the origin over a folder with `file.bin`. `body` gets the folder, the URL and curl's arguments.
    private func withSecureOrigin(_ body: (URL, String, [String]) async throws -> Void) async throws {
        try await withOrigin(size: 1_000_000, isSecure: true, takesUploads: true) { origin in
            try await body(origin.folder, origin.url, ["-s", "-S", "--http2", "--cacert", origin.authority])
        }
    }

    @Test func `curl gets ranges and heads, and puts a file`() async throws {
        try await withSecureOrigin { folder, url, curl in
            let copy = folder.appendingPathComponent("copy.bin")
            let range = ["-r", "1000-1999", "-o", copy.path, "-w", "%{http_version} %{http_code}", "\(url)/file.bin"]
            let part = try await run("curl", curl + range)
            #expect(part.output == "2 206", "\(part.errors)")
            #expect(try Data(contentsOf: copy) == bytes(1_000_000)[1_000..<2_000])
            let head = try await run("curl", curl + ["-I", "\(url)/file.bin"])
            #expect(head.output.hasPrefix("HTTP/2 200"), "\(head)")
            #expect(head.output.contains("content-length: 1000000\r\n"))
            let source = folder.appendingPathComponent("file.bin").path
            let put = try await run("curl", curl + ["-w", "%{http_code}", "-T", source, "\(url)/new.bin"])
            #expect(put.output == "201", "\(put.errors)")
            #expect(try Data(contentsOf: folder.appendingPathComponent("new.bin")) == bytes(1_000_000))
            // curl doesn't know the length of a pipe and sends none.
            let pipe = "cat file.bin | curl \(curl.joined(separator: " ")) -w '%{http_code}' -T - \(url)/piped.bin"
            let piped = try await run("sh", ["-c", "cd '\(folder.path)' && \(pipe)"])
            #expect(piped.output == "201", "\(piped.errors)")
            #expect(try Data(contentsOf: folder.appendingPathComponent("piped.bin")) == bytes(1_000_000))
        }
    }

    @Test func `an upload by hand is created, queried and resumed`() async throws {
        try await withSecureOrigin { folder, url, curl in
            let content = bytes(1_000_000)
            try content[..<300_000].write(to: folder.appendingPathComponent("first"))
            try content[300_000...].write(to: folder.appendingPathComponent("second"))
            let version = ["-H", "Upload-Draft-Interop-Version: 10"]
            let create = ["-i", "-X", "POST", "-H", "Upload-Complete: ?0", "--data-binary", "@\(folder.path)/first"]
            let created = try await run("curl", curl + version + create + ["\(url)/new.bin"])
            #expect(created.output.hasPrefix("HTTP/2 104"), "\(created)")
            #expect(created.output.contains("HTTP/2 201"))
            let lines = created.output.components(separatedBy: "\r\n")
            let locations = Set(lines.filter { $0.hasPrefix("location: ") })
            #expect(locations.count == 1)
            let location = try #require(locations.first?.dropFirst("location: ".count))
            let head = try await run("curl", curl + version + ["-I", "\(url)\(location)"])
            #expect(head.output.hasPrefix("HTTP/2 204"), "\(head)")
            #expect(head.output.contains("upload-offset: 300000\r\n"))
            let append = [
                "-i", "-X", "PATCH", "-H", "Upload-Complete: ?1", "-H", "Upload-Offset: 300000", "-H",
                "Content-Type: application/partial-upload", "--data-binary", "@\(folder.path)/second",
            ]
            let final = try await run("curl", curl + version + append + ["\(url)\(location)"])
            #expect(final.output.contains("HTTP/2 201"), "\(final)")
            #expect(final.output.contains("upload-complete: ?1\r\n"))
            #expect(try Data(contentsOf: folder.appendingPathComponent("new.bin")) == content)
        }
    }

    @Test func `more concurrent requests than a connection allows all get a response`() async throws {
        try await withSecureOrigin { folder, url, curl in
            let urls = (0..<60).flatMap { ["-o", "\(folder.path)/copy\($0)", "\(url)/file.bin"] }
            let all = try await run("curl", curl + ["--parallel", "--parallel-max", "60", "-f"] + urls)
            #expect(all.status == 0, "\(all.errors)")
            for number in 0..<60 {
                #expect(try Data(contentsOf: folder.appendingPathComponent("copy\(number)")) == bytes(1_000_000))
            }
        }
    }
}
