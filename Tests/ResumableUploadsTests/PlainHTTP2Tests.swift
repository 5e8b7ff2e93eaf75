import HTTPTypes
import NIOCore
import NIOHTTP2
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOHTTPTypesHTTP2
import NIOPosix
import ResumableUploads
import Testing
import TransferProtocol

/// The channel handler on the streams of a SwiftNIO server that speaks HTTP/2, as docs/library.md shows it.
@Suite(.timeLimit(.minutes(2))) struct PlainHTTP2Tests {
    /// How a stream converts its frames.
    enum Codec: CaseIterable {
        /// To HTTP types.
        case direct
        /// To the types of HTTP/1, as of `configureCommonHTTPServerPipeline`, and then to HTTP types.
        case throughHTTP1

        var handlers: [any ChannelHandler] {
            switch self {
            case .direct: [HTTP2FramePayloadToHTTPServerCodec()]
            case .throughHTTP1: [HTTP2FramePayloadToHTTP1ServerCodec(), HTTP1ToHTTPServerCodec(secure: false)]
            }
        }
    }

    /// The server's own handler, which responds to every request with its path.
    private final class Application: ChannelInboundHandler {
        typealias InboundIn = HTTPRequestPart
        typealias OutboundOut = HTTPResponsePart
        private var path = ""

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): path = head.path ?? ""
            case .body: break
            case .end:
                context.write(wrapOutboundOut(.head(HTTPResponse(status: .ok))), promise: nil)
                context.write(wrapOutboundOut(.body(ByteBuffer(string: path))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }

    private typealias Stream = NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>

    /// A connection of a client, without TLS.
    private struct Connection {
        let channel: any Channel
        let streams: NIOHTTP2Handler.StreamMultiplexer

        init(to address: SocketAddress) async throws {
            (channel, streams) = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connect(to: address) { channel in
                    channel.configureHTTP2Pipeline(
                        mode: .client,
                        connectionConfiguration: .init(),
                        streamConfiguration: .init()
                    ) { $0.close() }
                    .map { (channel, $0) }
                }
        }

        func open() async throws -> Stream {
            let stream = try await streams.createStreamChannel { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTPClientCodec())
                }
            }.get()
            return try await stream.eventLoop.submit { try Stream(wrappingChannelSynchronously: stream) }.get()
        }

        /// The responses to a request, interim ones included, and the content.
        func exchange(
            _ method: HTTPRequest.Method,
            _ path: String,
            _ fields: HTTPFields = [:],
            _ content: [UInt8] = []
        ) async throws -> (heads: [HTTPResponse], content: String) {
            try await open().executeThenClose { inbound, outbound in
                try await outbound.write(.head(request(method, path, fields)))
                if !content.isEmpty { try await outbound.write(.body(ByteBuffer(bytes: content))) }
                try await outbound.write(.end(nil))
                var (heads, text) = ([HTTPResponse](), "")
                for try await part in inbound {
                    switch part {
                    case .head(let head): heads.append(head)
                    case .body(let bytes): text += String(buffer: bytes)
                    case .end: break
                    }
                }
                return (heads, text)
            }
        }
    }

    private static func request(_ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields) -> HTTPRequest {
        HTTPRequest(method: method, scheme: "http", authority: "h", path: path, headerFields: fields)
    }

    /// Runs `body` with a connection to a server whose uploads are answered with their number of bytes.
    private func withConnection(_ codec: Codec, _ body: (Connection) async throws -> Void) async throws {
        let uploads = ResumableUploadServer { upload in
            var count = 0
            for try await piece in upload.body { count += piece.readableBytes }
            return UploadedResponse(head: HTTPResponse(status: .created), content: ByteBuffer(string: "\(count)"))
        }
        let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.configureHTTP2Pipeline(
                    mode: .server,
                    connectionConfiguration: .init(),
                    streamConfiguration: .init()
                ) { stream in
                    stream.eventLoop.makeCompletedFuture {
                        let pipeline = stream.pipeline.syncOperations
                        try pipeline.addHandlers(codec.handlers)
                        try pipeline.addHandler(ResumableUploadHandler(uploads))
                        try pipeline.addHandler(Application())
                    }
                }
                .map { _ in }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let address = try #require(server.localAddress)
        let connection = try await Connection(to: address)
        try await body(connection)
        try await connection.channel.close()
        try await server.close()
        await uploads.shutDown()
    }

    private static let version: HTTPFields = [.uploadDraftInteropVersion: "10"]

    @Test(arguments: Codec.allCases)
    func `uploads and other requests share a connection`(codec: Codec) async throws {
        try await withConnection(codec) { connection in
            #expect(try await connection.exchange(.get, "/hello").content == "/hello")
            var fields = Self.version
            fields[.uploadComplete] = "?1"
            let (heads, content) = try await connection.exchange(.post, "/photo", fields, [1, 2, 3])
            #expect(heads.map(\.status.code) == [104, 201])
            #expect(heads.last?.headerFields[.uploadComplete] == "?1")
            #expect(content == "3")
            #expect(try await connection.exchange(.post, "/plain", [:], [1]).content == "/plain")
            #expect(
                try await connection.exchange(.head, "/.uploads/none", Self.version).heads.map(\.status) == [.notFound]
            )
            #expect(try await connection.exchange(.get, "/again").content == "/again")
        }
    }

    @Test(arguments: Codec.allCases)
    func `an upload whose stream is reset resumes on the same connection`(codec: Codec) async throws {
        try await withConnection(codec) { connection in
            var fields = Self.version
            fields[.uploadComplete] = "?1"
            fields[.contentLength] = "10"
            let location = try await connection.open().executeThenClose { inbound, outbound in
                try await outbound.write(.head(Self.request(.post, "/photo", fields)))
                try await outbound.write(.body(ByteBuffer(bytes: [1, 2, 3, 4])))
                var heads = inbound.makeAsyncIterator()
                guard case .head(let head) = try await heads.next() else { return "" }
                return head.headerFields[.location] ?? ""
            }
            let state = try await connection.exchange(.head, location, Self.version).heads
            #expect(state.map(\.status.code) == [204])
            // The reset may have dropped what the server hadn't read yet.
            let offset = try #require(state.last?.headerFields[.uploadOffset].flatMap { Int($0) })
            #expect((0...4).contains(offset))
            fields = Self.version
            fields[.uploadComplete] = "?1"
            fields[.uploadOffset] = "\(offset)"
            fields[.contentType] = "application/partial-upload"
            let rest = [UInt8](repeating: 7, count: 10 - offset)
            let (heads, content) = try await connection.exchange(.patch, location, fields, rest)
            #expect(heads.last?.status == .created)
            #expect(content == "10")
        }
    }
}
