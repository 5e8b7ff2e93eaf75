import Foundation
import OriginServer
import ResumableUploads
import TestStreams
import Testing
import TransferProtocol

/// A server that accepts uploads into its served folder.
func withUploads<Result: Sendable>(
    limits: OriginLimits = .patient,
    policy: UploadPolicy = UploadPolicy(),
    _ body: (OriginServer, URL) async throws -> Result
) async throws -> Result {
    let folder = try Folder()
    return try await withServer(folder.url, limits: limits, policy: policy) { try await body($0, folder.url) }
}

/// A server over an existing folder.
private func withServer<Result: Sendable>(
    _ folder: URL,
    limits: OriginLimits = .patient,
    policy: UploadPolicy = UploadPolicy(),
    _ body: (OriginServer) async throws -> Result
) async throws -> Result {
    let uploads = OriginConfiguration.Uploads(folder: folder.path, policy: policy)
    let server = try await OriginServer.start(
        OriginConfiguration(folder: folder.path, limits: limits, uploads: uploads)
    )
    return try await ending(server, after: body) { await server.shutdown() }
}

extension RawConnection {
    /// Sends the head of a request.
    func request(_ method: String, _ target: String, _ fields: [String]) async throws {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: a"] + fields
        try await send(lines.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    /// The next response other than a progress report, which slow machines send.
    fileprivate mutating func finalResponse(isHead: Bool = false) async throws -> Response {
        while true {
            let response = try await response(isHead: isHead)
            if response.status != 104 { return response }
        }
    }

    /// The value of a field of the next head, which must have this status.
    fileprivate mutating func field(_ name: String, status: Int) async throws -> String? {
        let head = try await head()
        #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(head)")
        return Response(status: status, head: head, body: [])[name]
    }
}

/// The requests of Apple's clients, in their versions of the draft.
private struct AppleShape: Sendable {
    let dialect: UploadWireFormat

    private var version: String { "Upload-Draft-Interop-Version: \(dialect.interopVersion)" }
    private var complete: String { dialect == .v3 ? "Upload-Incomplete: ?0" : "Upload-Complete: ?1" }

    var creation: [String] { [version, complete] }
    var head: [String] { [version] }

    func append(from offset: Int) -> [String] {
        let type = dialect == .v6 ? ["Content-Type: application/partial-upload"] : []
        return [version, complete, "Upload-Offset: \(offset)"] + type
    }
}

@Suite(.timeLimit(.minutes(5))) struct UploadTests {
    private func contents(_ folder: URL, _ name: String = "new.bin") -> [UInt8]? {
        (try? Data(contentsOf: folder.appendingPathComponent(name))).map { Array($0) }
    }

    @Test(arguments: [UploadWireFormat.v3, .v5, .v6])
    func `an upload as Apple's clients send it, cut in mid-body, is resumed and completed`(
        dialect: UploadWireFormat
    ) async throws {
        let shape = AppleShape(dialect: dialect)
        let bytes = testBytes(300_000)
        try await withUploads { server, folder in
            let port = server.address.port
            let location = try await RawConnection.with(port: port) { connection in
                try await connection.request(
                    "POST",
                    "/new.bin",
                    shape.creation + ["Content-Length: \(bytes.count)", "Expect: 100-continue"]
                )
                let location = try #require(try await connection.field("location", status: 104))
                _ = try await connection.field("", status: 100)
                try await connection.send(bytes: Array(bytes[..<200_000]))
                return location
            }
            #expect(location.hasPrefix("/.uploads/"))
            #expect(contents(folder) == nil)
            let offset = try await RawConnection.with(port: port) { connection in
                try await connection.request("HEAD", location, shape.head)
                let response = try await connection.finalResponse(isHead: true)
                #expect(response.status == 204)
                #expect(response["cache-control"] == "no-store")
                #expect(
                    response[dialect == .v3 ? "upload-incomplete" : "upload-complete"] == (dialect == .v3 ? "?1" : "?0")
                )
                return try #require(response["upload-offset"].flatMap { Int($0) })
            }
            #expect((0...200_000).contains(offset))
            let final = try await RawConnection.with(port: port) { connection in
                let rest = Array(bytes[offset...])
                try await connection.request(
                    "PATCH",
                    location,
                    shape.append(from: offset) + ["Content-Length: \(rest.count)"]
                )
                try await connection.send(bytes: rest)
                return try await connection.finalResponse()
            }
            #expect(final.status == 201)
            #expect(final["upload-offset"] == "300000")
            #expect(final[dialect == .v3 ? "upload-incomplete" : "upload-complete"] == (dialect == .v3 ? "?0" : "?1"))
            #expect(contents(folder) == bytes)
        }
    }

    @Test func `an ordinary PUT is stored, the connection stays open, and the file is served`() async throws {
        try await withUploads { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("PUT", "/new.bin", ["Content-Length: 1000", "Expect: 100-continue"])
                _ = try await connection.field("", status: 100)
                try await connection.send(bytes: TestOrigin.content)
                let response = try await connection.finalResponse()
                #expect(response.status == 201)
                #expect(response["location"] == "/new.bin")
                #expect(response["upload-offset"] == nil)
                #expect(response["connection"] == nil)
                try await connection.request("GET", "/new.bin", [])
                #expect(try await connection.finalResponse().body == TestOrigin.content)
                let file = folder.appendingPathComponent("new.bin").path
                try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
                try await connection.request("PUT", "/new.bin", ["Content-Length: 0"])
                #expect(try await connection.finalResponse().status == 204)
                let attributes = try FileManager.default.attributesOfItem(atPath: file)
                #expect(attributes[.posixPermissions] as? Int == 0o640)
            }
            #expect(contents(folder) == [])
        }
    }

    @Test func `an upload without a length needs one, unless content follows by other requests`() async throws {
        try await withUploads { server, folder in
            try Data("kept".utf8).write(to: folder.appendingPathComponent("new.bin"))
            let version = "Upload-Draft-Interop-Version: 10"
            try await RawConnection.with(port: server.address.port) { connection in
                for (method, fields, status) in [
                    ("PUT", [], 411), ("POST", [], 411), ("PUT", [version, "Upload-Complete: ?1"], 411),
                    ("PUT", [version, "Upload-Complete: ?0"], 201), ("OPTIONS", [], 200),
                ] {
                    try await connection.request(method, "/new.bin", fields)
                    #expect(try await connection.finalResponse().status == status, "\(method) \(fields)")
                }
            }
            #expect(contents(folder) == Array("kept".utf8))
        }
    }

    @Test func `content in chunks is stored as it is, however it is cut`() async throws {
        try await withUploads { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("PUT", "/new.bin", ["Transfer-Encoding: chunked"])
                try await connection.sendSplit("3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\n\r\n")
                #expect(try await connection.finalResponse().status == 201)
            }
            #expect(contents(folder) == Array("abcdefgh".utf8))
        }
    }

    @Test func `a transfer coding that isn't decoded is refused, and Allow has the methods of a target`() async throws {
        try await withUploads { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("DELETE", "/new.bin", [])
                let refused = try await connection.finalResponse()
                #expect(refused.status == 405)
                #expect(refused["allow"] == "GET, HEAD, OPTIONS, PUT, POST")
                try await connection.request("PUT", "/new.bin", ["Transfer-Encoding: gzip, chunked"])
                try await connection.send("3\r\nabc\r\n0\r\n\r\n")
                #expect(try await connection.finalResponse().status == 501)
            }
            #expect(contents(folder) == nil)
        }
    }

    @Test func `malformed chunks get 400, and the content before them is kept`() async throws {
        try await withUploads { server, folder in
            let fields = ["Upload-Draft-Interop-Version: 10", "Upload-Complete: ?1", "Transfer-Encoding: chunked"]
            let location = try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("PUT", "/new.bin", fields)
                let location = try #require(try await connection.field("location", status: 104))
                try await connection.send("3\r\nabc\r\nnonsense\r\n")
                #expect(try await connection.finalResponse().status == 400)
                return location
            }
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("HEAD", location, ["Upload-Draft-Interop-Version: 10"])
                let offset = try await connection.finalResponse(isHead: true)["upload-offset"]
                #expect(offset == "0" || offset == "3")
            }
            #expect(contents(folder) == nil)
        }
    }

    @Test func `megabytes arrive complete with little in memory`() async throws {
        var limits = OriginLimits.patient
        limits.uploadBufferBytes = 4_096
        let bytes = testBytes(6_000_000)
        try await withUploads(limits: limits) { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("PUT", "/new.bin", ["Content-Length: \(bytes.count)"])
                try await connection.send(bytes: bytes)
                #expect(try await connection.finalResponse().status == 201)
            }
            #expect(contents(folder) == bytes)
        }
    }

    @Test func `a file that is too large is refused before it is sent, and the refusal arrives`() async throws {
        var policy = UploadPolicy()
        policy.maximumSize = 1_000
        try await withUploads(policy: policy) { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("PUT", "/new.bin", ["Content-Length: 3000000"])
                // The server reads and discards it, so that a reset doesn't destroy the response.
                try await connection.send(bytes: testBytes(3_000_000))
                let response = try await connection.finalResponse()
                #expect(response.status == 413)
                #expect(response["connection"] == "close")
            }
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("PUT", "/new.bin", ["Content-Length: 1000", "Connection: close"])
                try await connection.send(bytes: TestOrigin.content)
                #expect(try await connection.finalResponse().status == 201)
                let rest = await connection.rest()
                #expect(rest.isEmpty)
            }
            #expect(contents(folder) == TestOrigin.content)
        }
    }

    @Test func `a newer request closes the connection of an older one, and continues at its offset`() async throws {
        let version = "Upload-Draft-Interop-Version: 10"
        try await withUploads { server, folder in
            let port = server.address.port
            try await RawConnection.with(port: port) { old in
                try await old.request("PUT", "/new.bin", [version, "Upload-Complete: ?1", "Content-Length: 1000"])
                let location = try #require(try await old.field("location", status: 104))
                try await old.send(bytes: Array(TestOrigin.content[..<600]))
                let offset = try await RawConnection.with(port: port) { new in
                    try await new.request("HEAD", location, [version])
                    return try #require(try await new.finalResponse(isHead: true)["upload-offset"].flatMap { Int($0) })
                }
                let rest = String(decoding: await old.rest(), as: UTF8.self)
                // It may have got progress reports, but no response.
                #expect(rest.ranges(of: "HTTP/1.1 ").count == rest.ranges(of: "HTTP/1.1 104 ").count)
                try await RawConnection.with(port: port) { new in
                    try await new.request(
                        "PATCH",
                        location,
                        [
                            version, "Upload-Complete: ?1", "Upload-Offset: \(offset)",
                            "Content-Type: application/partial-upload", "Content-Length: \(1_000 - offset)",
                        ]
                    )
                    try await new.send(bytes: Array(TestOrigin.content[offset...]))
                    #expect(try await new.finalResponse().status == 201)
                }
            }
            #expect(contents(folder) == TestOrigin.content)
        }
    }

    @Test func `an upload resumes after a restart of the server`() async throws {
        let version = "Upload-Draft-Interop-Version: 10"
        let folder = try Folder()
        let location = try await withServer(folder.url) { server in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request(
                    "PUT",
                    "/new.bin",
                    [version, "Upload-Complete: ?0", "Upload-Length: 1000", "Content-Length: 400"]
                )
                let location = try #require(try await connection.field("location", status: 104))
                try await connection.send(bytes: Array(TestOrigin.content[..<400]))
                #expect(try await connection.finalResponse()["upload-offset"] == "400")
                return location
            }
        }
        try await withServer(folder.url) { server in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("HEAD", location, [version])
                let head = try await connection.finalResponse(isHead: true)
                #expect(head["upload-offset"] == "400")
                #expect(head["upload-length"] == "1000")
                try await connection.request(
                    "PATCH",
                    location,
                    [
                        version, "Upload-Complete: ?1", "Upload-Offset: 400",
                        "Content-Type: application/partial-upload",
                        "Content-Length: 600",
                    ]
                )
                try await connection.send(bytes: Array(TestOrigin.content[400...]))
                #expect(try await connection.finalResponse().status == 201)
            }
        }
        #expect(contents(folder.url) == TestOrigin.content)
    }

    @Test func `nothing of an upload is served before it is complete`() async throws {
        let version = "Upload-Draft-Interop-Version: 10"
        try await withUploads { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request(
                    "PUT",
                    "/new.bin",
                    [version, "Upload-Complete: ?0", "Content-Length: 3"]
                )
                _ = try await connection.field("location", status: 104)
                try await connection.send("abc")
                #expect(try await connection.finalResponse().status == 201)
                let inside = folder.appendingPathComponent(UploadStore.folderName)
                let names = try FileManager.default.contentsOfDirectory(atPath: inside.path)
                #expect(names.count == 3)
                for target in ["/new.bin"] + names.map({ "/\(UploadStore.folderName)/\($0)" }) {
                    try await connection.request("GET", target, [])
                    #expect(try await connection.finalResponse().status == 404)
                }
            }
        }
    }

    @Test func `a client that sends too slowly gets 408, and can resume`() async throws {
        var limits = OriginLimits.patient
        limits.contentRateWindow = .milliseconds(20)
        let version = "Upload-Draft-Interop-Version: 10"
        try await withUploads(limits: limits) { server, _ in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request(
                    "PUT",
                    "/new.bin",
                    [version, "Upload-Complete: ?1", "Content-Length: 1000"]
                )
                let location = try #require(try await connection.field("location", status: 104))
                let response = try await connection.finalResponse()
                #expect(response.status == 408)
                #expect(response["connection"] == "close")
                try await RawConnection.with(port: server.address.port) { connection in
                    try await connection.request("HEAD", location, [version])
                    #expect(try await connection.finalResponse(isHead: true)["upload-offset"] == "0")
                }
            }
        }
    }

    @Test(arguments: [
        ("PUT", "/a/b", 405), ("PUT", "/", 405), ("PUT", "/.hidden", 405), ("PUT", "/a%2Fb", 405), ("PUT", "/..", 405),
        ("PUT", "/a%01b", 400), ("PUT", "/\(String(repeating: "a", count: 256))", 400), ("PATCH", "/new.bin", 405),
        ("DELETE", "/new.bin", 405), ("HEAD", "/.uploads/0", 404), ("PATCH", "/.uploads/../new.bin", 404),
        ("HEAD", "/.uploads/00000000000000000000000000000000", 404), ("PUT", "/a%00b", 405),
    ])
    func `paths that lead elsewhere take nothing`(_ method: String, _ target: String, _ status: Int) async throws {
        try await withUploads { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request(method, target, ["Content-Length: 0"])
                let response = try await connection.finalResponse(isHead: method == "HEAD")
                #expect(response.status == status)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [UploadStore.folderName])
        }
    }

    @Test func `a folder has one server that takes uploads`() async throws {
        try await withUploads { _, folder in
            _ = await #expect {
                try await withServer(folder) { _ in }
            } throws: { error in
                (error as? OriginError)?.code == .uploadsFolderInUse
            }
        }
    }

    @Test func `a hidden folder in the served one takes no uploads, a folder in it takes them at its path`()
        async throws
    {
        try await withUploads { _, folder in
            for name in [".hidden", "incoming"] {
                try FileManager.default.createDirectory(
                    at: folder.appendingPathComponent(name),
                    withIntermediateDirectories: false
                )
            }
            func configuration(_ name: String) -> OriginConfiguration {
                OriginConfiguration(
                    folder: folder.path,
                    uploads: .init(folder: folder.appendingPathComponent(name).path)
                )
            }
            await #expect {
                _ = try await OriginServer.start(configuration(".hidden"))
            } throws: { error in
                (error as? OriginError)?.code == .uploadsFolderHidden
            }
            let server = try await OriginServer.start(configuration("incoming"))
            try await RawConnection.with(port: server.address.port) { connection in
                try await connection.request("PUT", "/new.bin", ["Content-Length: 0"])
                #expect(try await connection.finalResponse().status == 405)
                try await connection.request("PUT", "/incoming/new.bin", ["Content-Length: 1"])
                try await connection.send("a")
                #expect(try await connection.finalResponse().status == 201)
                try await connection.request("GET", "/incoming/new.bin", [])
                #expect(try await connection.finalResponse().body == Array("a".utf8))
            }
            await server.shutdown()
        }
    }
}
