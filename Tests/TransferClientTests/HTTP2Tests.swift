import DevelopmentCA
import HTTPSemantics
import HTTPTransport
import HTTPTypes
import NIOHTTP2
import NIOSSL
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Transfers over HTTP/2 (RFC 9113), from servers that end streams and connections in every way.
@Suite(.timeLimit(.minutes(5))) struct HTTP2Tests {
    private static let resource = Resource(size: 200_000)
    private let authority: DevelopmentCA

    init() throws { authority = try DevelopmentCA() }

    private func identity(_ protocols: [String] = ["h2"]) throws -> NIOSSLContext {
        try authority.serverContext { $0.applicationProtocols = protocols }
    }

    /// Downloads from a server scripted by `respond`.
    private func download(
        into folder: Folder,
        configure: (inout TransferClientConfiguration) -> Void = { _ in },
        _ respond: @escaping @Sendable (ReceivedRequest) -> [HTTP2Step]
    ) async throws -> (Attempted, [ReceivedRequest]) {
        try await ScriptedHTTP2Server.serve(over: identity(), respond) { server in
            let settings = try authority.trusting()
            let done = await attempt(DownloadRequest(url: server.url), to: folder.destination) {
                $0.tls = settings
                configure(&$0)
            }
            return (done, server.requests)
        }
    }

    /// The correct response: head and body.
    private static func response(_ request: ReceivedRequest) -> (head: HTTP2Step, body: [UInt8]) {
        let content = resource.content
        let start = request.rangeStart ?? 0
        var fields = [("etag", "\"v1\""), ("content-length", String(content.count - start))]
        if start > 0 { fields.append(("content-range", "bytes \(start)-\(content.count - 1)/\(content.count)")) }
        return (.head(start > 0 ? 206 : 200, fields), Array(content[start...]))
    }

    @Test(arguments: [HTTP2Step.reset(.internalError), .reset(.cancel), .reset(.refusedStream), .sever])
    func `a download resumes after a stream or connection ended early`(end: HTTP2Step) async throws {
        let folder = try Folder()
        let (done, requests) = try await download(into: folder) { request in
            let (head, body) = Self.response(request)
            guard request.ordinal < 2 else { return [head, .send(body), .end()] }
            return [head, .send(Array(body.prefix(60_000))), end]
        }
        #expect(done.error == nil)
        #expect(done.resumedAt == [60_000, 90_000])
        #expect(folder.file == Self.resource.content)
        #expect(requests.count == 3)
        #expect(requests.allSatisfy { $0.fields["connection"] == nil })
        #expect(requests.map { $0.fields[":authority"]?.hasPrefix("127.0.0.1:") } == [true, true, true])
    }

    @Test func `the error code of a stream is reported`() async throws {
        let folder = try Folder()
        let (done, _) = try await download(into: folder) { request in
            request.ordinal == 0
                ? [.reset(.enhanceYourCalm)] : [Self.response(request).head, .send(Self.resource.content), .end()]
        }
        #expect(done.error == nil)
        #expect(
            done.transientFailures.map(\.description).first?.contains("ENHANCE_YOUR_CALM") == true,
            "\(done.transientFailures)"
        )
    }

    @Test func `GOAWAY lets the stream end`() async throws {
        let folder = try Folder()
        let (done, requests) = try await download(into: folder) { request in
            let (head, body) = Self.response(request)
            return [
                head, .send(Array(body.prefix(1_000))), .goAway(.noError), .send(Array(body.dropFirst(1_000))), .end(),
            ]
        }
        #expect(done.summary?.connections == 1)
        #expect(requests.count == 1)
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a stream that ends before its content-length isn't a complete file`() async throws {
        let folder = try Folder()
        let (done, _) = try await download(into: folder) { request in
            let (head, body) = Self.response(request)
            return request.ordinal == 0
                ? [head, .send(Array(body.prefix(50_000))), .end()] : [head, .send(body), .end()]
        }
        #expect(done.error == nil)
        #expect(done.transientFailures.count == 1)
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a body without a length ends with its stream, and a cut of it is noticed`() async throws {
        let folder = try Folder()
        let content = Self.resource.content
        let (done, _) = try await download(into: folder) { request in
            let head = HTTP2Step.head(200, [("etag", "\"v1\"")])
            guard request.ordinal > 0 else { return [head, .send(Array(content.prefix(80_000))), .sever] }
            guard let start = request.rangeStart else { return [head, .send(content), .end()] }
            let range = "bytes \(start)-\(content.count - 1)/\(content.count)"
            return [
                .head(206, [("etag", "\"v1\""), ("content-range", range)]), .send(Array(content[start...])), .end(),
            ]
        }
        #expect(done.error == nil)
        #expect(done.resumedAt == [80_000])
        #expect(folder.file == content)
        // END_STREAM isn't the end of a connection, so the length is known.
        #expect(done.summary?.proof != DownloadProof.none(.lengthUnknown))
    }

    @Test func `a digest in the trailers is compared`() async throws {
        let folder = try Folder()
        let digest = ReprDigest(sha256: Self.resource.sha256)?.headerValue ?? ""
        let (done, _) = try await download(into: folder) { request in
            let (head, body) = Self.response(request)
            return [head, .send(body), .end([("repr-digest", digest)])]
        }
        #expect(done.summary?.verified == [.server])
    }

    @Test func `interim responses are skipped, and too many of them are given up`() async throws {
        let folder = try Folder()
        let (done, _) = try await download(into: folder) { request in
            let (head, body) = Self.response(request)
            let count = request.ordinal == 0 ? 65 : 64
            return Array(repeating: .head(103, [("link", "</a>")]), count: count) + [head, .send(body), .end()]
        }
        #expect(done.error == nil)
        #expect(done.transientFailures == [.malformedResponse("more than 64 interim responses")])
        #expect(folder.file == Self.resource.content)
    }

    @Test func `a silent stream is abandoned`() async throws {
        let folder = try Folder()
        let (done, _) = try await download(into: folder) {
            $0.firstByteLimit = .milliseconds(200)
            $0.stall.window = .seconds(1)
        } _: { request in
            let (head, body) = Self.response(request)
            switch request.ordinal {
            case 0: return [.stall]
            case 1: return [head, .send(Array(body.prefix(10_000))), .stall]
            default: return [head, .send(body), .end()]
            }
        }
        #expect(done.error == nil)
        // A busy machine may miss the first limit more often.
        #expect(Set(done.transientFailures) == [.firstByteTimedOut, .stalled])
        #expect(folder.file == Self.resource.content)
    }

    @Test func `fields beyond the limit are refused`() async throws {
        let folder = try Folder()
        let (done, _) = try await download(into: folder) {
            $0.retry.maximumAttempts = 1
        } _: { request in
            let (head, body) = Self.response(request)
            guard case .head(let status, let fields) = head else { return [] }
            let long = (0..<10).map { ("x-long-\($0)", String(repeating: "x", count: 10_000)) }
            return [.head(status, fields + long), .send(body), .end()]
        }
        #expect(done.error?.disposition == .resumable)
        #expect(folder.file == nil)
    }

    @Test(arguments: [["http/1.1"], []])
    func `a server that doesn't know HTTP/2 is negotiated to by HTTP/1`(protocols: [String]) async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve(over: identity(protocols)) { server in
            let settings = try authority.trusting()
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) { $0.tls = settings }
            #expect(done.error == nil)
            #expect(server.requests.map { $0.fields["connection"] } == ["close"])
        }
    }

    @Test func `HTTP/2 isn't offered where it is turned off`() async throws {
        let folder = try Folder()
        try await Script { Self.resource.serve($0) }.serve(over: identity(["h2", "http/1.1"])) { server in
            let given = try authority.trusting(offersHTTP2: false)
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) { $0.tls = given }
            #expect(done.error == nil)
        }
    }

    @Test(arguments: [UploadServerKind.ordinary, .wrapped, .dialect(.v3), .dialect(.v6), .dialect(.v10)])
    func `an upload resumes after cuts`(kind: UploadServerKind) async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 < 3 ? 150_000 : nil }
        habits.tls = try identity()
        habits.speaksHTTP2 = true
        let bytes = testBytes(300_000)
        try await withUploadServer(kind, habits) { server in
            let folder = try UploadFolder(bytes)
            var request = folder.request(server.url)
            if case .dialect(let dialect) = kind { request.dialects = .only(dialect) }
            let settings = try authority.trusting()
            let done = await upload(folder, request) { $0.tls = settings }
            #expect(done.error == nil)
            #expect(server.delivered == [bytes])
            #expect(server.requests.allSatisfy { $0.fields[.connection] == nil })
            if kind != .ordinary { #expect(done.resumedAt.last ?? 0 > 0) }
        }
    }

    @Test func `a response before the content ends the upload`() async throws {
        var habits = UploadServerHabits()
        habits.tls = try identity()
        habits.speaksHTTP2 = true
        habits.refuse = { _, _ in 403 }
        try await withUploadServer(.ordinary, habits) { server in
            let folder = try UploadFolder(testBytes(3_000_000))
            let settings = try authority.trusting()
            let done = await upload(folder, folder.request(server.url)) { $0.tls = settings }
            #expect(done.error == .refused(.status(403)))
        }
    }

    @Sendable private static func staysSilent(_ request: ReceivedRequest) -> [HTTP2Step] { [.stall] }

    /// With TLS 1.2 the server finishes the handshake, so its settings arrive before the request.
    @Test func `an upload without content is given up where the server takes no stream`() async throws {
        let tls = try authority.serverContext {
            $0.applicationProtocols = ["h2"]
            $0.maximumTLSVersion = .tlsv12
        }
        try await ScriptedHTTP2Server.serve(over: tls, mostStreams: 0, Self.staysSilent) { server in
            let folder = try UploadFolder([])
            let settings = try authority.trusting()
            let done = await upload(folder, folder.request(server.url)) {
                $0.tls = settings
                $0.uploadResponseLimit = .milliseconds(300)
                $0.retry.maximumAttempts = 1
                $0.retry.deadline = .seconds(200)
            }
            #expect(done.error == .gaveUp(.attempts(1), .firstByteTimedOut))
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `a server that requires HTTP/1 gets no further HTTP/2 requests`() async throws {
        let folder = try Folder()
        let content = Self.resource.content
        let response = Array("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n".utf8) + content
        let tls = try identity(["h2", "http/1.1"])
        let (served, sent) = try await ScriptedHTTP2Server.serve(over: tls, http1Response: response, Self.requiresHTTP1)
        {
            server in
            let settings = try authority.trusting()
            let done = await attempt(DownloadRequest(url: server.url), to: folder.destination) { $0.tls = settings }
            #expect(done.error == nil)
            #expect(done.transientFailures.count == 1)
            let isComplete = folder.file == content
            #expect(isComplete)
            let uploads = try UploadFolder([])
            var request = uploads.request(server.url)
            request.dialects = .none
            let seen = server.requests.count
            let upload = await upload(uploads, request) { $0.tls = settings }
            #expect(upload.error == nil)
            return (seen, server.requests.count - seen)
        }
        #expect(served == 1)
        #expect(sent == 1)
    }

    @Sendable private static func requiresHTTP1(_ request: ReceivedRequest) -> [HTTP2Step] {
        [.reset(.http11Required)]
    }

    /// REFUSED_STREAM means that nothing was processed (RFC 9113, section 8.7), so a POST may be repeated.
    @Test(arguments: [true, false])
    func `a POST is sent again after a stream that was refused, and after no other`(isRefused: Bool) async throws {
        let respond: @Sendable (ReceivedRequest) -> [HTTP2Step] = { request in
            request.ordinal == 0 ? [.reset(isRefused ? .refusedStream : .cancel)] : [.head(201, []), .end()]
        }
        try await ScriptedHTTP2Server.serve(over: identity(), respond) { server in
            let folder = try UploadFolder([])
            var request = folder.request(server.url, .post)
            request.dialects = .none
            let settings = try authority.trusting()
            let done = await upload(folder, request) { $0.tls = settings }
            #expect((done.error == nil) == isRefused, "\(done.result)")
            #expect(server.requests.count == (isRefused ? 2 : 1))
        }
    }
}
