import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import TestStreams
import Testing
import TransferProtocol

@testable import ResumableUploads

/// The channel handler in front of an application's handler.
@Suite(.timeLimit(.minutes(2))) struct HandlerTests {
    /// The uploads that the wrapped handler received.
    private final class Target: Sendable {
        let heads = Mutex<[HTTPRequest]>([])
        let bodies = Mutex<[[UInt8]]>([])
        let cancelled = Mutex(0)

        func take(_ request: UploadedRequest) async throws -> UploadedResponse {
            heads.withLock { $0.append(request.head) }
            var bytes: [UInt8] = []
            do {
                for try await piece in request.body { bytes += piece.readableBytesView }
            } catch {
                cancelled.withLock { $0 += 1 }
                throw error
            }
            bodies.withLock { $0.append(bytes) }
            let head = HTTPResponse(status: .created, headerFields: [.location: "/files/1"])
            return UploadedResponse(head: head, content: ByteBuffer(string: "thanks"))
        }
    }

    /// A connection to a server.
    private struct Connection {
        let channel: NIOAsyncTestingChannel

        init(_ server: ResumableUploadServer, behind handlers: [any ChannelHandler & Sendable] = []) async throws {
            channel = try await NIOAsyncTestingChannel { channel in
                for handler in handlers { try channel.pipeline.syncOperations.addHandler(handler) }
                try channel.pipeline.syncOperations.addHandler(ResumableUploadHandler(server))
            }
            try await channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1))
        }

        func send(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ fields: HTTPFields = [:],
            _ content: [UInt8] = [],
            ends: Bool = true
        ) async throws {
            let head = HTTPRequest(
                method: method,
                scheme: "http",
                authority: "h",
                path: path,
                headerFields: fields
            )
            try await channel.writeInbound(HTTPRequestPart.head(head))
            if !content.isEmpty { try await channel.writeInbound(HTTPRequestPart.body(ByteBuffer(bytes: content))) }
            if ends { try await channel.writeInbound(HTTPRequestPart.end(nil)) }
        }

        func head() async throws -> HTTPResponse {
            guard case .head(let head) = try await channel.waitForOutboundWrite(as: HTTPResponsePart.self) else {
                throw Unexpected()
            }
            return head
        }

        /// The next final response.
        func response() async throws -> (HTTPResponse, String) {
            var final = try await head()
            while final.status.kind == .informational { final = try await head() }
            var content = ""
            while true {
                switch try await channel.waitForOutboundWrite(as: HTTPResponsePart.self) {
                case .head: throw Unexpected()
                case .body(let buffer): content += String(buffer: buffer)
                case .end: return (final, content)
                }
            }
        }
    }

    private struct Unexpected: Error {}

    private static func creation(_ length: Int, _ more: HTTPFields = [:]) -> HTTPFields {
        var fields: HTTPFields = [.contentLength: "\(length)", .contentType: "image/png"]
        fields[.uploadDraftInteropVersion] = "10"
        UploadWireFormat.v10.encode(UploadFields(isComplete: true, length: Int64(length)), into: &fields)
        return fields
    }

    private static func append(_ offset: Int, _ length: Int) -> HTTPFields {
        var fields: HTTPFields = [.contentLength: "\(length)", .contentType: "application/partial-upload"]
        fields[.uploadDraftInteropVersion] = "10"
        UploadWireFormat.v10.encode(UploadFields(isComplete: true, offset: Int64(offset)), into: &fields)
        return fields
    }

    private static let content = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 * 7) }

    @Test func `an upload in one request reaches the handler without the upload fields`() async throws {
        let target = Target()
        let server = ResumableUploadServer(handler: target.take)
        let connection = try await Connection(server)
        var fields = Self.creation(1_000)
        fields[.ifMatch] = "*"
        try await connection.send(.post, "/photos?a=1", fields, Self.content)
        let early = try await connection.head()
        #expect(early.status.code == 104)
        #expect(early.headerFields[.location]?.hasPrefix("/.uploads/") == true)
        let (response, content) = try await connection.response()
        #expect(response.status == .created)
        #expect(response.headerFields[.location] == "/files/1")
        #expect(UploadWireFormat.v10.decode(response.headerFields).isComplete == true)
        #expect(content == "thanks")
        let head = try #require(target.heads.withLock { $0.first })
        #expect(head.path == "/photos?a=1")
        #expect(head.headerFields == [.contentType: "image/png", .ifMatch: "*", .contentLength: "1000"])
        #expect(target.bodies.withLock { $0 } == [Self.content])
        await server.shutDown()
    }

    @Test func `an upload resumes over another connection, and a lost response is sent again`() async throws {
        let target = Target()
        let server = ResumableUploadServer(handler: target.take)
        let first = try await Connection(server)
        try await first.send(.put, "/photo", Self.creation(1_000), Array(Self.content.prefix(300)), ends: false)
        let location = try #require(try await first.head().headerFields[.location])
        try await first.channel.close()
        let second = try await Connection(server)
        try await second.send(.head, location, [.uploadDraftInteropVersion: "10"])
        let (state, _) = try await second.response()
        #expect(UploadWireFormat.v10.decode(state.headerFields).offset == 300)
        #expect(UploadWireFormat.v10.decode(state.headerFields).isComplete == false)
        try await second.send(.patch, location, Self.append(300, 700), Array(Self.content.dropFirst(300)))
        #expect(try await second.response().0.status == .created)
        try await second.send(.patch, location, Self.append(1_000, 0))
        let (again, content) = try await second.response()
        #expect(again.status == .created)
        #expect(content == "thanks")
        #expect(target.bodies.withLock { $0 } == [Self.content])
        #expect(target.heads.withLock { $0.count } == 1)
        await server.shutDown()
    }

    @Test func `a handler may respond before it has read everything, which ends the upload`() async throws {
        let server = ResumableUploadServer { _ in
            UploadedResponse(head: HTTPResponse(status: .contentTooLarge), content: ByteBuffer(string: "too big"))
        }
        let connection = try await Connection(server)
        try await connection.send(.put, "/photo", Self.creation(1_000), [1], ends: false)
        let location = try #require(try await connection.head().headerFields[.location])
        let (response, content) = try await connection.response()
        #expect(response.status == .contentTooLarge)
        #expect(content == "too big")
        // It is the target's response, which can't be appended to.
        #expect(UploadWireFormat.v10.decode(response.headerFields).isComplete == true)
        let second = try await Connection(server)
        try await second.send(.patch, location, Self.append(1, 999), [2], ends: false)
        #expect(try await second.response().0.status == .contentTooLarge)
        await server.shutDown()
    }

    @Test func `100 (Continue) is sent when the handler first reads, and not before`() async throws {
        var fields = Self.creation(2)
        fields[try #require(HTTPField.Name("Expect"))] = "100-continue"
        let refusing = ResumableUploadServer { _ in UploadedResponse(head: HTTPResponse(status: .forbidden)) }
        var connection = try await Connection(refusing)
        try await connection.send(.put, "/photo", fields, ends: false)
        #expect(try await connection.head().status.code == 104)
        #expect(try await connection.head().status == .forbidden)
        await refusing.shutDown()
        let (gate, opened) = AsyncStream<Void>.makeStream()
        let reading = ResumableUploadServer { request in
            for await _ in gate { break }
            for try await _ in request.body {}
            return UploadedResponse(head: HTTPResponse(status: .created))
        }
        connection = try await Connection(reading)
        try await connection.send(.put, "/photo", fields, ends: false)
        let location = try #require(try await connection.head().headerFields[.location])
        // Everything that the server does by itself has happened by now.
        let other = try await Connection(reading)
        try await other.send(.options, location, [.uploadDraftInteropVersion: "10"])
        _ = try await other.response()
        await connection.channel.testingEventLoop.run()
        #expect(try await connection.channel.readOutbound(as: HTTPResponsePart.self) == nil)
        opened.yield()
        #expect(try await connection.head().status == .continue)
        try await connection.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(bytes: [1, 2])))
        try await connection.channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(try await connection.response().0.status == .created)
        await reading.shutDown()
    }

    @Test func `deleting an upload cancels its handler`() async throws {
        let target = Target()
        let server = ResumableUploadServer(handler: target.take)
        let first = try await Connection(server)
        try await first.send(.put, "/photo", Self.creation(1_000), [1, 2], ends: false)
        let location = try #require(try await first.head().headerFields[.location])
        let second = try await Connection(server)
        try await second.send(.delete, location, [.uploadDraftInteropVersion: "10"])
        #expect(try await second.response().0.status == .noContent)
        #expect(server.count == 0)
        await server.shutDown()
        #expect(target.cancelled.withLock { $0 } == 1)
    }

    @Test func `a handler that fails, or responds with too much content, is a 500`() async throws {
        for kind in 0..<2 {
            let server = ResumableUploadServer { request in
                for try await _ in request.body {}
                if kind == 0 { throw Unexpected() }
                let long = ByteBuffer(repeating: 1, count: 64 << 10 + 1)
                return UploadedResponse(head: HTTPResponse(status: .ok), content: long)
            }
            let connection = try await Connection(server)
            try await connection.send(.put, "/photo", Self.creation(2), [1, 2])
            #expect(try await connection.response().0.status == .internalServerError)
            await server.shutDown()
        }
    }

    @Test func `requests that aren't about uploads pass as they are`() async throws {
        let server = ResumableUploadServer(handler: Target().take)
        let connection = try await Connection(server)
        for method in [HTTPRequest.Method.get, .put, .post, .delete, .options, .patch] {
            try await connection.send(method, "/photo", [.contentLength: "1"], [1])
            var parts: [HTTPRequestPart] = []
            while let part = try await connection.channel.readInbound(as: HTTPRequestPart.self) { parts.append(part) }
            guard case .head(let head) = parts.first else { throw Unexpected() }
            #expect(head.method == method)
            #expect(parts.dropFirst() == [.body(ByteBuffer(bytes: [1])), .end(nil)])
        }
        #expect(server.count == 0)
        await server.shutDown()
    }

    @Test func `the response to OPTIONS gets the limits of uploads`() async throws {
        var configuration = ResumableUploadServer.Configuration()
        configuration.policy.maximumSize = 1_000
        let server = ResumableUploadServer(configuration: configuration, handler: Target().take)
        let connection = try await Connection(server)
        for (status, version, key) in [
            (200, nil, "max-age"), (204, "6", "expires"), (501, "10", nil), (200, "3", "max-age"),
        ] {
            try await connection.send(.options, "/photo", version.map { [.uploadDraftInteropVersion: $0] } ?? [:])
            let head = HTTPResponse(status: .init(code: status), headerFields: [.allow: "OPTIONS"])
            try await connection.channel.writeAndFlush(HTTPResponsePart.head(head))
            try await connection.channel.writeAndFlush(HTTPResponsePart.end(nil))
            let (response, _) = try await connection.response()
            let limits = response.headerFields[.uploadLimit]
            #expect((limits != nil) == (key != nil), "\(status)")
            if let key {
                #expect(limits?.contains("max-size=1000") == true && limits?.contains(key) == true, "\(limits ?? "")")
            }
            #expect(response.headerFields[.allow] == "OPTIONS")
        }
        await server.shutDown()
    }

    @Test func `a part of an upload in a version that isn't negotiated here doesn't reach the handler`() async throws {
        let target = Target()
        let server = ResumableUploadServer(handler: target.take)
        let connection = try await Connection(server)
        for version in ["4", "11", nil] {
            var fields: HTTPFields = [.contentLength: "1"]
            fields[.uploadDraftInteropVersion] = version
            fields[.uploadComplete] = "?0"
            try await connection.send(.post, "/photo", fields, [1])
            let (response, _) = try await connection.response()
            #expect(response.status == .badRequest)
            #expect(response.headerFields[.uploadDraftInteropVersion] == "10")
        }
        #expect(try await connection.channel.readInbound(as: HTTPRequestPart.self) == nil)
        await server.shutDown()
    }

    @Test func `content needs no length, as by HTTP 2`() async throws {
        let target = Target()
        let server = ResumableUploadServer(handler: target.take)
        let connection = try await Connection(server)
        var fields = Self.creation(1_000)
        fields[.contentLength] = nil
        try await connection.send(.post, "/photo", fields, Self.content)
        #expect(try await connection.response().0.status == .created)
        #expect(target.bodies.withLock { $0 } == [Self.content])
        await server.shutDown()
    }

    @Test func `a client that doesn't come back has its handler cancelled`() async throws {
        let target = Target()
        var configuration = ResumableUploadServer.Configuration()
        configuration.policy.idleTimeout = 0
        let server = ResumableUploadServer(configuration: configuration, handler: target.take)
        let connection = try await Connection(server)
        try await connection.send(.put, "/photo", Self.creation(1_000), [1, 2], ends: false)
        _ = try await connection.head()
        server.service.handle(.tick)
        #expect(server.count == 1, "a connection that is there keeps its upload")
        try await connection.channel.close()
        let isGone = await eventually {
            server.service.handle(.tick)
            return server.count == 0
        }
        #expect(isGone)
        await server.shutDown()
        #expect(target.cancelled.withLock { $0 } == 1)
    }

    @Test(arguments: ["/.uploads/", "/.uploads/../etc", "/.uploads/AAAAAAAAAAAAAAAAAAAAAA"])
    func `an unknown upload is a 404, and the connection stays open`(path: String) async throws {
        let server = ResumableUploadServer(handler: Target().take)
        let connection = try await Connection(server)
        for _ in 0..<2 {
            try await connection.send(.head, path, [.uploadDraftInteropVersion: "10"])
            #expect(try await connection.response().0.status == .notFound)
        }
        await server.shutDown()
    }

    @Test func `a client isn't read on while the handler takes nothing`() async throws {
        let reads = Reads()
        let (gate, opened) = AsyncStream<Void>.makeStream()
        let server = ResumableUploadServer { request in
            for await _ in gate { break }
            var count = 0
            for try await piece in request.body { count += piece.readableBytes }
            return UploadedResponse(head: HTTPResponse(status: .ok), content: ByteBuffer(string: "\(count)"))
        }
        let connection = try await Connection(server, behind: [reads])
        let piece = [UInt8](repeating: 9, count: 64 << 10)
        try await connection.send(.put, "/photo", Self.creation(32 * piece.count), ends: false)
        _ = try await connection.head()
        for _ in 0..<32 { try await connection.channel.writeInbound(HTTPRequestPart.body(ByteBuffer(bytes: piece))) }
        // The channel reads automatically after each chunk until reads are delayed.
        #expect(reads.count.withLock { $0 } < 10)
        try await connection.channel.writeInbound(HTTPRequestPart.end(nil))
        opened.yield()
        #expect(try await connection.response().1 == "\(32 * piece.count)")
        await server.shutDown()
    }

    @Test func `content after a response is discarded up to a limit, and then the connection ends`() async throws {
        let server = ResumableUploadServer { _ in UploadedResponse(head: HTTPResponse(status: .unauthorized)) }
        let connection = try await Connection(server)
        try await connection.send(.put, "/photo", Self.creation(1 << 20), [1], ends: false)
        #expect(try await connection.response().0.status == .unauthorized)
        let piece = ByteBuffer(repeating: 1, count: 64 << 10)
        // The byte that came with the head is discarded before the response or after it.
        let first = ByteBuffer(repeating: 1, count: piece.readableBytes - 1)
        for piece in [first, piece, piece, piece] {
            try await connection.channel.writeInbound(HTTPRequestPart.body(piece))
        }
        #expect(connection.channel.isActive)
        _ = try? await connection.channel.writeInbound(HTTPRequestPart.body(piece))
        #expect(!connection.channel.isActive)
        await server.shutDown()
    }
}

/// Counts the channel's reads.
private final class Reads: ChannelOutboundHandler, Sendable {
    typealias OutboundIn = HTTPResponsePart
    let count = Mutex(0)

    func read(context: ChannelHandlerContext) {
        count.withLock { $0 += 1 }
        context.read()
    }
}
