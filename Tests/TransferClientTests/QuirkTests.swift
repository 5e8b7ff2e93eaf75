import Synchronization
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Servers as people report them, behind connections that break.
@Suite(.timeLimit(.minutes(5))) struct QuirkTests {
    private static let resource = Resource(size: 1 << 20)

    /// Downloads from a server that cuts its first responses after `cut` bytes of their body.
    private func download(
        cuttingAt cut: Int,
        times: Int,
        _ request: DownloadRequest? = nil,
        _ respond: @escaping @Sendable (ReceivedRequest) -> (head: Step, body: [UInt8])
    ) async throws -> (done: Attempted, file: [UInt8]?, requests: [ReceivedRequest]) {
        let folder = try Folder()
        let cuts = Mutex(0)
        return try await Script { request in
            let (head, body) = respond(request)
            let isCut =
                body.count > cut
                && cuts.withLock { count in
                    guard count < times else { return false }
                    count += 1
                    return true
                }
            return [head, .send(isCut ? Array(body.prefix(cut)) : body)]
        }.serve { server in
            var request = request ?? DownloadRequest(url: "")
            request.url = server.url()
            return (await attempt(request, to: folder.destination), folder.file, server.requests)
        }
    }

    /// The full resource with other fields, or the requested part of it with the status `status`.
    private static func response(_ request: ReceivedRequest, _ fields: [String], status: Int = 206) -> (Step, [UInt8]) {
        let content = resource.content
        guard let start = request.rangeStart else {
            return (.head(200, fields + ["Content-Length: \(content.count)"]), content)
        }
        let range = "Content-Range: bytes \(start)-\(content.count - 1)/\(content.count)"
        return (
            .head(status, fields + [range, "Content-Length: \(content.count - start)"]), Array(content[start...])
        )
    }

    private static let date = "Last-Modified: Sun, 06 Nov 1994 08:30:00 GMT"
    private static let now = "Date: Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [16 << 10, 70_000, 200_000, 256 << 10],
        [[now, "ETag: W/\"x\"", date], [now, "ETag: W/\"x\""], [now, date], [now, "ETag: \"x\""], []]
    )
    func `every cut costs one connection, whatever the validators`(cut: Int, fields: [String]) async throws {
        let (done, file, requests) = try await download(cuttingAt: cut, times: 1_000) { Self.response($0, fields) }
        #expect(done.error == nil)
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
        #expect(done.waits.isEmpty)
        #expect(requests.dropFirst().allSatisfy { $0.rangeStart != nil })
    }

    @Test(arguments: [true, false])
    func `edges with entity tags of their own cost one request, or one start, and no more`(isDated: Bool) async throws {
        let (done, file, requests) = try await download(cuttingAt: 70_000, times: 1_000) { request in
            let tag = "\"edge-\(request.ordinal % 3)\""
            let fields = [Self.now, "ETag: \(tag)"] + (isDated ? [Self.date] : [])
            let isOther = request.fields["if-range"].map { $0 != tag } ?? false
            guard isOther else { return Self.response(request, fields) }
            return (.head(200, fields + ["Content-Length: \(Self.resource.content.count)"]), Self.resource.content)
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == (isDated ? [] : [.representationChanged]))
        #expect(requests.count < 36)
    }

    @Test func `a digest of the caller joins whatever repeats the right bytes`() async throws {
        let request = DownloadRequest(url: "", expectedSHA256: Self.resource.sha256)
        let (done, file, _) = try await download(cuttingAt: 70_000, times: 1_000, request) { request in
            Self.response(request, ["ETag: \"edge-\(request.ordinal)\""])
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
        #expect(done.summary?.proof == .digest)
    }

    @Test func `a server that ignores a range with If-Range is asked by the range alone`() async throws {
        let (done, file, requests) = try await download(cuttingAt: 70_000, times: 1_000) { request in
            guard request.fields["if-range"] != nil else { return Self.response(request, ["ETag: \"x\""]) }
            return (
                .head(200, ["ETag: \"x\"", "Content-Length: \(Self.resource.content.count)"]), Self.resource.content
            )
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
        #expect(requests.filter { $0.fields["if-range"] != nil }.count == 1)
    }

    @Test(arguments: [["ETag: \"x\""], ["ETag: W/\"x\""], []])
    func `a server that fails at the same bytes of the file each time is passed without an overlap`(
        fields: [String]
    ) async throws {
        let size = Self.resource.content.count
        let folder = try Folder()
        try await Script { request in
            let start = request.rangeStart ?? 0
            let end = min(size, (start / 100_000 + 1) * 100_000)
            let (head, body) = Self.response(request, fields)
            return [head, .send(Array(body.prefix(end - start)))]
        }.serve { server in
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(folder.file == Self.resource.content)
            #expect(done.waits.isEmpty)
            #expect(server.requests.count == 2 * (size / 100_000) + 1)
        }
    }

    @Test func `a part with status 200 is taken as one`() async throws {
        let (done, file, _) = try await download(cuttingAt: 70_000, times: 1_000) {
            Self.response($0, ["ETag: \"x\""], status: 200)
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
    }

    @Test func `a head with a length that can't be used is refused at the second time`() async throws {
        let folder = try Folder()
        for fields in [
            ["Content-Length: 3", "Content-Length: 4"], ["Content-Length: 3", "Transfer-Encoding: chunked"],
            ["Transfer-Encoding: chunked", "Content-Length: 3"], ["Content-Length: 3\nX-Short: line"],
        ] {
            try await Script { _ in [.head(200, fields), .text("3\r\nabc\r\n0\r\n\r\n")] }.serve { server in
                let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
                #expect(done.error == .refused(.ambiguousLength))
                #expect(done.error?.disposition == .final)
                #expect(server.requests.count == 2)
                #expect(folder.names == [])
            }
        }
    }

    @Test func `a coded file is stored as it is sent where the request says so`() async throws {
        let request = DownloadRequest(url: "", storesCoded: true)
        let (done, file, _) = try await download(cuttingAt: 70_000, times: 3, request) {
            Self.response($0, ["ETag: \"x\"", "Content-Encoding: gzip"])
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
        let refused = try await download(cuttingAt: 70_000, times: 0) {
            Self.response($0, ["ETag: \"x\"", "Content-Encoding: gzip"])
        }
        #expect(refused.done.error == .refused(.contentEncoding("gzip")))
    }

    @Test func `a file that has the caller's digest already isn't requested`() async throws {
        let folder = try Folder()
        try folder.write(Self.resource.content, at: folder.destination.string)
        try await Script { Self.resource.serve($0) }.serve { server in
            let right = DownloadRequest(url: server.url(), expectedSHA256: Self.resource.sha256)
            let done = await attempt(right, to: folder.destination)
            #expect(done.summary?.connections == 0)
            #expect(done.summary?.verified == [.caller])
            #expect(done.summary?.bytes == 1 << 20)
            #expect(done.summary?.bytesRepeated == 0)
            #expect(folder.names == ["file.bin"])
            try folder.write([1, 2, 3], at: folder.destination.string)
            #expect(await attempt(right, to: folder.destination).summary?.connections == 1)
            #expect(folder.file == Self.resource.content)
        }
    }

    /// 1,000 servers under equal validators that end a connection with garbage, or begin the next part with it.
    @Test func `no server that lies at a join has its file proved`() async throws {
        let lies = (UInt64(1)...1_000).map { SeededLie(seed: $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in 0..<4 {
                group.addTask {
                    for lie in lies.dropFirst(share * 250).prefix(250) {
                        let folder = try Folder()
                        try await Script { lie.respond(to: $0) }.serve { server in
                            let request = DownloadRequest(url: server.url(), requiresProof: true)
                            let done = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 3 }
                            #expect(folder.file == nil || folder.file == lie.resource.content, "seed \(lie.seed)")
                            #expect(done.error == nil || folder.file == nil, "seed \(lie.seed)")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
