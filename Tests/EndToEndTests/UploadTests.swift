import Foundation
import Glibc
import TestSockets
import TestStreams
import Testing

/// `squall origin --uploads`.
@Suite(.timeLimit(.minutes(5))) struct UploadTests {
    @Test func `curl uploads a file, and gets it back`() async throws {
        try await withFolder { folder in
            let source = folder.appendingPathComponent("source.bin")
            try bytes(3_000_000).write(to: source)
            let served = folder.appendingPathComponent("served")
            try FileManager.default.createDirectory(at: served, withIntermediateDirectories: false)
            try await withChild(Programs.squall, ["origin", served.path, "--uploads", served.path]) { origin in
                let line = try await origin.line(with: "ready: ")
                #expect(line.hasSuffix(", takes uploads into \(served.path)"))
                let url = try "http://\(address(in: line))/new.bin"
                let put = try await run("curl", ["-s", "-S", "-w", "%{http_code}", "-T", source.path, url])
                #expect(put.output == "201")
                let copy = folder.appendingPathComponent("copy.bin").path
                #expect(try await run("curl", ["-s", "-S", "-f", "-o", copy, url]).status == 0)
                #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == bytes(3_000_000))
            }
        }
    }

    @Test(arguments: [
        (["--upload-limit", "1MB"], "--uploads"), (["--uploads", "/proc/nothing"], "no folder"),
        (["--uploads", "/dev/null"], "not a folder"), (["--uploads", ".", "--upload-limit", "0B"], "--upload-limit"),
    ])
    func `invalid upload options are wrong input`(_ options: [String], _ word: String) async throws {
        try await withFolder { folder in
            let outcome = try await squall(["origin", "."] + options, folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(word), "\(outcome.errors)")
        }
    }

    @Test func `the given limit is enforced`() async throws {
        try await withFolder { folder in
            let options = ["origin", folder.path, "--uploads", folder.path, "--upload-limit", "1000B"]
            try await withChild(Programs.squall, options) { origin in
                let place = try await address(in: origin.line(with: "ready: "))
                let socket = try TestSocket.connected(to: place)
                try socket.send(Array("PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n".utf8))
                #expect(socket.head()?.first?.hasPrefix("HTTP/1.1 413 ") == true)
            }
        }
    }

    @Test func `an upload finishes although the server is killed at any moment, and no offset goes down`() async throws
    {
        let content = Array(bytes(2_000_000))
        try await withFolder { folder in
            var location: String?
            var told = 0
            var kills = 0
            var random = SystemRandomNumberGenerator()
            while true {
                let isLast = kills >= 20
                let isOver = try await withChild(
                    Programs.squall,
                    ["origin", folder.path, "--uploads", folder.path]
                ) { origin in
                    let place = try await address(in: origin.line(with: "ready: "))
                    if let known = location {
                        let offset = try Self.offset(of: known, at: place)
                        #expect(offset >= told)
                        told = offset
                    }
                    let socket = try TestSocket.connected(to: place)
                    let rest = content.count - told
                    let count = isLast ? rest : Int.random(in: 0..<max(1, min(rest, 200_000)), using: &random)
                    try socket.send(Array(Self.request(location, told, rest).utf8))
                    if location == nil {
                        guard let head = socket.head() else { throw Complaint("no 104") }
                        location = field("location", in: head)
                    }
                    try socket.send(Array(content[told..<(told + count)]))
                    guard isLast else {
                        // Half of the time the server has acknowledged something when it is killed.
                        if let location, Bool.random(using: &random) {
                            let offset = try Self.offset(of: location, at: place)
                            #expect(offset >= told)
                            told = offset
                        }
                        return false
                    }
                    while let head = socket.head() {
                        if head[0].hasPrefix("HTTP/1.1 201 ") { return true }
                        #expect(head[0].hasPrefix("HTTP/1.1 104 "))
                    }
                    return false
                }
                kills += 1
                if isOver { break }
                try #require(!isLast)
            }
            #expect(try Data(contentsOf: folder.appendingPathComponent("new.bin")) == Data(content))
            #expect(told > 0)
        }
    }

    private static func request(_ location: String?, _ offset: Int, _ count: Int) -> String {
        let method = location == nil ? "POST /new.bin" : "PATCH \(location ?? "")"
        let append =
            location == nil ? "" : "Upload-Offset: \(offset)\r\nContent-Type: application/partial-upload\r\n"
        return "\(method) HTTP/1.1\r\nHost: a\r\nUpload-Draft-Interop-Version: 10\r\nUpload-Complete: ?1\r\n"
            + "\(append)Content-Length: \(count)\r\n\r\n"
    }

    private static func offset(of location: String, at place: String) throws -> Int {
        let socket = try TestSocket.connected(to: place)
        try socket.send(Array("HEAD \(location) HTTP/1.1\r\nHost: a\r\nUpload-Draft-Interop-Version: 10\r\n\r\n".utf8))
        guard let head = socket.head() else { throw Complaint("no answer to HEAD") }
        return try #require(field("upload-offset", in: head).flatMap { Int($0) }, "\(head)")
    }
}
