import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import Testing
import TransferProtocol

@testable import ResumableUploads

/// Pipelined requests in one packet, without an `HTTPServerPipelineHandler`, as in Hummingbird.
@Suite(.timeLimit(.minutes(2))) struct HandlerPipeliningTests {
    /// The messages on the channel, in order.
    private final class Log: Sendable {
        let events = Mutex<[String]>([])
        let reads = Mutex(0)

        func append(_ event: String) { events.withLock { $0.append(event) } }
    }

    /// Logs responses to the client.
    private final class Front: ChannelOutboundHandler, Sendable {
        typealias OutboundIn = HTTPResponsePart
        typealias OutboundOut = HTTPResponsePart
        let log: Log

        init(_ log: Log) { self.log = log }

        func read(context: ChannelHandlerContext) {
            log.reads.withLock { $0 += 1 }
            context.read()
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            switch unwrapOutboundIn(data) {
            case .head(let head): if head.status.kind != .informational { log.append("\(head.status.code)") }
            case .body: break
            case .end: log.append("end")
            }
            context.write(data, promise: promise)
        }
    }

    /// Logs requests to the next handler.
    private final class Back: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTPRequestPart
        let log: Log

        init(_ log: Log) { self.log = log }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head(let head) = unwrapInboundIn(data) { log.append("\(head.method) \(head.path ?? "")") }
        }
    }

    private let log = Log()

    /// A server that responds with the content of the upload.
    private func echo() -> ResumableUploadServer {
        ResumableUploadServer { [log] request in
            var text = ""
            for try await piece in request.body { text += String(buffer: piece) }
            log.append("upload of \(text)")
            return UploadedResponse(head: HTTPResponse(status: .created))
        }
    }

    private func connect(_ server: ResumableUploadServer) async throws -> NIOAsyncTestingChannel {
        let channel = try await NIOAsyncTestingChannel { [log] channel in
            try channel.pipeline.syncOperations.addHandlers([Front(log), ResumableUploadHandler(server), Back(log)])
        }
        try await channel.connect(to: .init(ipAddress: "127.0.0.1", port: 1))
        return channel
    }

    private func request(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ fields: HTTPFields = [:],
        _ content: String? = nil
    ) -> [HTTPRequestPart] {
        let head = HTTPRequest(method: method, scheme: "http", authority: "h", path: path, headerFields: fields)
        return [.head(head)] + (content.map { [.body(ByteBuffer(string: $0))] } ?? []) + [.end(nil)]
    }

    /// A chunked upload of unknown length.
    private func upload(_ content: String, _ fields: HTTPFields = [:]) -> [HTTPRequestPart] {
        var fields = fields
        fields[.uploadDraftInteropVersion] = "10"
        UploadWireFormat.v10.encode(UploadFields(isComplete: true), into: &fields)
        return request(.post, "/photo", fields, content)
    }

    /// Delivers all of these bytes at once.
    private func receive(_ parts: [HTTPRequestPart], on channel: NIOAsyncTestingChannel) async throws {
        try await channel.testingEventLoop.executeInContext {
            for part in parts { channel.pipeline.syncOperations.fireChannelRead(NIOAny(part)) }
        }
    }

    /// Waits for the end of a response and returns its head.
    private func response(on channel: NIOAsyncTestingChannel) async throws -> HTTPResponse? {
        var last: HTTPResponse?
        while true {
            switch try await channel.waitForOutboundWrite(as: HTTPResponsePart.self) {
            case .head(let head): last = head
            case .body: break
            case .end: return last
            }
        }
    }

    @Test func `requests in the packet of an upload aren't its content, and wait for its response`() async throws {
        let server = echo()
        let channel = try await connect(server)
        try await receive(upload("one") + upload("two") + request(.get, "/a") + request(.get, "/b"), on: channel)
        for _ in 0..<2 { #expect(try await response(on: channel)?.status == .created) }
        await channel.testingEventLoop.run()
        let expected = ["upload of one", "201", "end", "upload of two", "201", "end", "GET /a", "GET /b"]
        #expect(log.events.withLock { $0 } == expected)
        await server.shutDown()
    }

    @Test func `an upload waits for the responses to earlier requests, and nothing is read meanwhile`() async throws {
        let server = echo()
        let channel = try await connect(server)
        try await receive(request(.get, "/slow") + upload("one"), on: channel)
        #expect(server.count == 0)
        let reads = log.reads.withLock { $0 }
        channel.read()
        await channel.testingEventLoop.run()
        #expect(log.reads.withLock { $0 } == reads)
        try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        #expect(server.count == 0)
        try await channel.writeAndFlush(HTTPResponsePart.end(nil))
        #expect(log.reads.withLock { $0 } > reads)
        for status in [HTTPResponse.Status.ok, .created] {
            #expect(try await response(on: channel)?.status == status)
        }
        #expect(log.events.withLock { $0 } == ["GET /slow", "200", "end", "upload of one", "201", "end"])
        await server.shutDown()
    }

    @Test func `a connection that its client asks to close is closed after the response`() async throws {
        let server = echo()
        let channel = try await connect(server)
        try await receive(upload("one", [.connection: "Foo, Close"]) + upload("two"), on: channel)
        let head = try await response(on: channel)
        #expect(head?.status == .created)
        #expect(head?.headerFields[.connection] == "close")
        try await channel.closeFuture.get()
        #expect(log.events.withLock { $0 } == ["upload of one", "201", "end"])
        await server.shutDown()
    }

    @Test func `content that stalls gets 408, the connection is closed, and the upload can be resumed`() async throws {
        let server = echo()
        let channel = try await connect(server)
        try await receive(Array(upload("x").dropLast()), on: channel)
        // The time starts when the server waits for content.
        for _ in 0..<100_000 where channel.isActive {
            await channel.testingEventLoop.advanceTime(by: .seconds(31))
            await Task.yield()
        }
        guard !channel.isActive else { return #expect(Bool(false), "The content is waited for without an end") }
        #expect(log.events.withLock { $0 } == ["408", "end"])
        #expect(server.count == 1)
        await server.shutDown()
    }

    @Test func `a length that can't be read gets 400, and the connection is closed`() async throws {
        let server = echo()
        let channel = try await connect(server)
        try await receive(upload("one", [.contentLength: "3, 3"]) + upload("two"), on: channel)
        #expect(try await response(on: channel)?.status == .badRequest)
        try await channel.closeFuture.get()
        #expect(log.events.withLock { $0 } == ["400", "end"])
        #expect(server.count == 0)
        await server.shutDown()
    }
}
