import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization
import TestStreams

/// The actions of a scripted HTTP/2 server on a stream, in order.
enum HTTP2Step: Sendable {
    /// Sends a HEADERS frame with a status and fields.
    case head(Int, [(String, String)])
    /// Sends DATA frames.
    case send([UInt8])
    /// Ends the stream, with trailers if there are any.
    case end([(String, String)] = [])
    /// Sends RST_STREAM.
    case reset(HTTP2ErrorCode)
    /// Sends GOAWAY for streams after the first, and keeps the connection.
    case goAway(HTTP2ErrorCode)
    /// Closes the connection below TLS.
    case sever
    /// Sends nothing more and keeps the stream open.
    case stall
}

/// An HTTP/2 server over TLS on an ephemeral port of the loopback.
final class ScriptedHTTP2Server: Sendable {
    private struct Record {
        var requests: [ReceivedRequest] = []
        var streams: [Int] = []
        var unread = 0
    }

    private let record = Mutex(Record())
    private let bound = Mutex<(any Channel)?>(nil)
    private let respond: @Sendable (ReceivedRequest) -> [HTTP2Step]

    var port: Int { bound.withLock { $0?.localAddress?.port ?? 0 } }
    var url: String { "https://127.0.0.1:\(port)/file.bin" }
    /// The requests so far; the ordinal is that of the connection, since the client opens one for each.
    var requests: [ReceivedRequest] { record.withLock { $0.requests } }

    private init(_ respond: @escaping @Sendable (ReceivedRequest) -> [HTTP2Step]) { self.respond = respond }

    /// Runs `body` against a server scripted by `respond`, with `mostStreams` concurrent streams.
    ///
    /// HTTP/1 clients get `http1Answer`, if set.
    static func serve<Value>(
        over tls: NIOSSLContext,
        mostStreams: Int = 100,
        http1Response: [UInt8]? = nil,
        _ respond: @escaping @Sendable (ReceivedRequest) -> [HTTP2Step],
        _ body: (ScriptedHTTP2Server) async throws -> Value
    ) async throws -> Value {
        let server = ScriptedHTTP2Server(respond)
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [HTTP2Setting(parameter: .maxConcurrentStreams, value: mostStreams)]
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { [configuration] connection in
                connection.eventLoop.makeCompletedFuture {
                    let pipeline = connection.pipeline.syncOperations
                    try pipeline.addHandler(ConnectionSocket())
                    try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                    if let http1Response { try pipeline.addHandler(HTTP1Answer(http1Response)) }
                    try pipeline.addHandler(
                        NIOHTTP2Handler(
                            mode: .server,
                            eventLoop: connection.eventLoop,
                            connectionConfiguration: configuration,
                            streamConfiguration: .init()
                        ) { stream in
                            stream.eventLoop.makeCompletedFuture {
                                try stream.pipeline.syncOperations.addHandler(HTTP2ScriptHandler(server, connection))
                            }
                        }
                    )
                    try pipeline.addHandler(ConnectionErrors())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        server.bound.withLock { $0 = channel }
        return try await ending(server, after: body) { try await channel.close() }
    }

    fileprivate func steps(for headers: HPACKHeaders) -> [HTTP2Step] {
        var fields: [String: String] = [:]
        for (name, value, _) in headers { fields[name] = value }
        let request = record.withLock { record in
            let request = ReceivedRequest(
                ordinal: record.requests.count,
                method: fields[":method"] ?? "",
                target: fields[":path"] ?? "",
                fields: fields
            )
            record.requests.append(request)
            return request
        }
        return respond(request)
    }
}

/// Placed next to the socket, where a close bypasses TLS.
///
/// Sends what one read gave rise to in one system call: the server's settings arrive with the end of its handshake
/// wherever that is the last message of both, as with TLS 1.2.
private final class ConnectionSocket: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var willFlush = false

    func flush(context: ChannelHandlerContext) {
        guard !willFlush else { return }
        willFlush = true
        context.eventLoop.assumeIsolated().execute {
            self.willFlush = false
            context.flush()
        }
    }
}

/// Responds to HTTP/1 requests, and forwards HTTP/2 connections.
private final class HTTP1Answer: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let response: [UInt8]
    private var isHTTP2: Bool?
    /// The server's first bytes to an HTTP/2 client.
    private var kept: [(NIOAny, EventLoopPromise<Void>?)] = []

    init(_ response: [UInt8]) { self.response = response }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        if isHTTP2 == nil { isHTTP2 = buffer.readableBytesView.starts(with: Array("PRI".utf8)) }
        guard isHTTP2 == false else {
            for (data, promise) in kept { context.write(data, promise: promise) }
            kept = []
            context.flush()
            return context.fireChannelRead(data)
        }
        guard buffer.readableBytesView.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: response))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch isHTTP2 {
        case nil: kept.append((data, promise))
        case true?: context.write(data, promise: promise)
        case false?: promise?.fail(ChannelError.eof)
        }
    }
}

/// Closes a connection when its client disconnects.
private final class ConnectionErrors: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

private final class HTTP2ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let server: ScriptedHTTP2Server
    private let connection: any Channel

    init(_ server: ScriptedHTTP2Server, _ connection: any Channel) {
        self.server = server
        self.connection = connection
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .headers(let headers) = unwrapInboundIn(data) else { return }
        perform(server.steps(for: headers.headers)[...], context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func perform(_ steps: ArraySlice<HTTP2Step>, _ context: ChannelHandlerContext) {
        guard let step = steps.first else { return }
        let written: EventLoopFuture<Void>
        switch step {
        case .head(let status, let fields):
            let headers = HPACKHeaders([(":status", String(status))] + fields)
            written = context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: headers))))
        case .send(let bytes):
            written = context.writeAndFlush(wrapOutboundOut(.data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes))))))
        case .end(let trailers):
            let last: HTTP2Frame.FramePayload =
                trailers.isEmpty
                ? .data(.init(data: .byteBuffer(ByteBuffer()), endStream: true))
                : .headers(.init(headers: HPACKHeaders(trailers), endStream: true))
            written = context.writeAndFlush(wrapOutboundOut(last))
        case .reset(let code): written = context.writeAndFlush(wrapOutboundOut(.rstStream(code)))
        case .goAway(let code):
            let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: 1, errorCode: code, opaqueData: nil)
            written = connection.writeAndFlush(HTTP2Frame(streamID: .rootStream, payload: payload))
        case .sever:
            let socket = try? connection.pipeline.syncOperations.context(handlerType: ConnectionSocket.self)
            socket?.close(promise: nil)
            return
        case .stall: return
        }
        written.assumeIsolated().whenSuccess { self.perform(steps.dropFirst(), context) }
    }
}
