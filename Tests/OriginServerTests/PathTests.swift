import Foundation
import Testing

@testable import OriginServer

@Suite struct PathTests {
    private static let secret = "out of the folder"

    /// Fails when the response to any of these raw targets has another status.
    private func expectRefusal(_ targets: [String], _ status: Int, at origin: TestOrigin) async throws {
        for target in targets {
            let response = try await origin.everything("GET \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            #expect(response.hasPrefix("HTTP/1.1 \(status) "), "\(target): \(response.prefix(20))")
            #expect(!response.contains(Self.secret), "\(target)")
        }
    }

    @Test func `no target leads out of the folder`() async throws {
        try await TestOrigin.with(["file.bin": [1], "folder/inner.txt": [1], "a\\b": [1]]) { origin in
            let outside = origin.folder.deletingLastPathComponent()
            try Data(Self.secret.utf8).write(to: outside.appendingPathComponent("secret"))
            let name = origin.folder.lastPathComponent
            let targets = [
                "/../secret", "/folder/../../secret", "/%2e%2e/secret", "/%2E%2E/secret", "/.%2e/secret",
                "/..%2fsecret",
                "/folder/..%2f..%2fsecret", "/%2e%2e%2fsecret", "/..%5csecret", "/..\\secret", "/a%5cb", "/a\\b",
                "//etc/passwd", "/%2fetc/passwd", "/%2Fetc%2Fpasswd", "/./file.bin", "/folder/./inner.txt",
                "/folder/../file.bin", "//file.bin", "/folder//inner.txt", "/../\(name)/file.bin", "/%252e%252e/secret",
                "http://a/../secret", "http://a/%2e%2e/secret", "/folder/inner.txt/../../file.bin",
                "/proc/self/environ",
            ]
            try await expectRefusal(targets, 404, at: origin)
        }
    }

    @Test func `an invalid target gets 400`() async throws {
        try await TestOrigin.with { origin in
            let targets = [
                "/file%00.bin", "/%00", "/file.bin%", "/file.bin%2", "/file.bin%zz", "/%ff", "/%c0%ae%c0%ae/secret",
                "/%ed%a0%80", "*", "file.bin", "ftp://a/file.bin", "http:///file.bin",
            ]
            try await expectRefusal(targets, 400, at: origin)
        }
    }

    @Test func `hidden files and the client's partial files are kept back`() async throws {
        let files = [
            ".secret", ".git/config", "folder/.hidden", "a.squall-part", "a.squall-part.journal", ".a.squall-part",
        ]
        let contents = Dictionary(uniqueKeysWithValues: files.map { ($0, Array(Self.secret.utf8)) })
        try await TestOrigin.with(contents) { origin in
            try await expectRefusal(files.map { "/" + $0 }, 404, at: origin)
            try await expectRefusal(["/%2esecret", "/a%2esquall-part"], 404, at: origin)
        }
    }

    @Test func `symbolic links are followed within the folder only`() async throws {
        try await TestOrigin.with(["folder/file.txt": [7], ".hidden": [1], "a.squall-part": [1]]) { origin in
            let outside = origin.folder.deletingLastPathComponent()
            try Data(Self.secret.utf8).write(to: outside.appendingPathComponent("secret"))
            // A sibling whose path has the folder's path as a prefix.
            let sibling = outside.appendingPathComponent(origin.folder.lastPathComponent + "-sibling")
            try FileManager.default.createDirectory(at: sibling, withIntermediateDirectories: true)
            try Data(Self.secret.utf8).write(to: sibling.appendingPathComponent("secret"))
            let links = [
                "inside": "folder/file.txt", "absolute-inside": origin.url("folder/file.txt").path,
                "out": "../secret", "absolute-out": outside.appendingPathComponent("secret").path, "parent": "..",
                "root": "/", "sibling": sibling.path, "loop": "loop", "dangling": "none", "to-hidden": ".hidden",
                "to-partial": "a.squall-part", "device": "/dev/zero", "self": ".",
            ]
            for (name, target) in links {
                try FileManager.default.createSymbolicLink(atPath: origin.url(name).path, withDestinationPath: target)
            }
            for served in ["/inside", "/absolute-inside", "/self/inside"] {
                #expect(try await origin.response("GET", served).body == [7], "\(served)")
            }
            let refused = [
                "/out", "/absolute-out", "/parent/secret", "/root/etc/passwd", "/sibling/secret", "/loop", "/dangling",
                "/to-hidden", "/to-partial", "/device", "/self/.hidden",
            ]
            try await expectRefusal(refused, 404, at: origin)
        }
    }

    @Test func `folders and special files get 404 without blocking`() async throws {
        try await TestOrigin.with(["folder/file.txt": [1]]) { origin in
            #expect(mkfifo(origin.url("fifo").path, 0o600) == 0)
            let targets = [
                "/fifo", "/folder/", "/", "/file.txt/", "/folder/file.txt/", "/none", "/none/none",
            ]
            try await expectRefusal(targets, 404, at: origin)
            try await expectRefusal(["/" + String(repeating: "a", count: 300)], 404, at: origin)
            try await expectRefusal(["/" + String(repeating: "a/", count: 3_000)], 404, at: origin)
            try await expectRefusal(["/" + String(repeating: "a", count: 9_000)], 414, at: origin)
        }
    }

    @Test func `a slash at the end means the index of the folder`() async throws {
        try await TestOrigin.with(["index.html": [1], "folder/index.html": [2]]) { origin in
            let root = try await origin.response("GET", "/?query")
            #expect(root.body == [1])
            #expect(root["content-type"] == "text/html; charset=utf-8")
            #expect(try await origin.response("GET", "/folder/").body == [2])
            #expect(try await origin.response("GET", "/none").status == 404)
        }
    }

    @Test(
        arguments: [
            "/a%20b.bin", "/%61%20b.bin", "/a%20b.bin?x=/../y", "http://a/a%20b.bin", "HTTPS://b:1/a%20b.bin?x",
            "http://[::1]:80/a%20b.bin",
        ]
    )
    func `a file is found by its decoded name, in both forms of the target`(_ target: String) async throws {
        try await TestOrigin.with(["a b.bin": [9]]) { origin in
            let response = try await origin.response("GET", target)
            #expect(response.body == [9])
        }
    }

    @Test func `names beyond ASCII and names that look encoded are served`() async throws {
        try await TestOrigin.with(["é.txt": [1], "%41": [2], "a..b": [3], "...": [4]]) { origin in
            #expect(try await origin.response("GET", "/%C3%A9.txt").body == [1])
            #expect(try await origin.response("GET", "/%2541").body == [2])
            #expect(try await origin.response("GET", "/a..b").body == [3])
            let hidden = try await origin.response("GET", "/...")
            #expect(hidden.status == 404)
        }
    }

    @Test func `an absolute-form target without a path is the folder`() {
        #expect(RequestTarget("http://a") == .path(components: [], endsWithSlash: true))
        #expect(RequestTarget("http://a?x") == .path(components: [], endsWithSlash: true))
        #expect(RequestTarget("/") == .path(components: [], endsWithSlash: true))
        #expect(RequestTarget("*") == .server)
        #expect(RequestTarget("") == .malformed)
        #expect(RequestTarget("/a#b") == .malformed)
    }
}
