import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestStreams

/// A request as seen by a test.
struct ReceivedRequest: Sendable {
    /// The ordinal of the connection, from 0.
    var ordinal: Int
    var method: String
    var target: String
    /// Field values by lower-case name.
    var fields: [String: String]

    /// The first byte of an open range: 100 of `bytes=100-`.
    var rangeStart: Int? {
        fields["range"].flatMap { $0.hasPrefix("bytes=") ? Int($0.dropFirst(6).prefix { $0 != "-" }) : nil }
    }

    /// The last byte of a range: 199 of `bytes=100-199`.
    var rangeEnd: Int? { fields["range"].flatMap { Int($0.drop { $0 != "-" }.dropFirst()) } }
}

/// The actions of a scripted server on a connection, in order; then it closes.
enum Step: Sendable {
    case send([UInt8])
    /// Closes with a reset instead of FIN.
    case reset
    /// Closes with FIN but without close_notify.
    case sever
    /// Stays silent and keeps the connection open.
    case stall

    static func text(_ text: String) -> Step { .send(Array(text.utf8)) }
}

/// A raw-bytes HTTP server on an ephemeral loopback port, for invalid responses.
final class ScriptedServer: Sendable {
    let port: Int
    private let channel: any Channel
    private let log: Log

    final class Log: Sendable {
        let requests = Mutex<[ReceivedRequest]>([])
    }

    /// The requests so far, in order.
    var requests: [ReceivedRequest] { log.requests.withLock { $0 } }

    func url(_ path: String = "/file.bin") -> String { "\(isSecure ? "https" : "http")://127.0.0.1:\(port)\(path)" }

    private let isSecure: Bool

    fileprivate init(channel: any Channel, port: Int, log: Log, isSecure: Bool) {
        self.isSecure = isSecure
        self.channel = channel
        self.port = port
        self.log = log
    }

    fileprivate func stop() async throws {
        try await channel.close()
    }
}

/// The response script of a server.
struct Script: Sendable {
    private let respond: @Sendable (ReceivedRequest) -> [Step]

    init(_ respond: @escaping @Sendable (ReceivedRequest) -> [Step]) {
        self.respond = respond
    }

    /// Runs `body` against a server with this script, over TLS if a context is given.
    func serve<Value>(over tls: NIOSSLContext? = nil, _ body: (ScriptedServer) async throws -> Value) async throws
        -> Value
    {
        let log = ScriptedServer.Log()
        let respond = respond
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls {
                        try channel.pipeline.syncOperations.addHandler(SocketEnd())
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try channel.pipeline.syncOperations.addHandler(ScriptHandler(log: log, respond: respond))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = ScriptedServer(
            channel: channel,
            port: channel.localAddress?.port ?? 0,
            log: log,
            isSecure: tls != nil
        )
        return try await ending(server, after: body) { try await server.stop() }
    }
}

/// Placed next to the socket, where a close bypasses TLS.
private final class SocketEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
}

private final class ScriptHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let log: ScriptedServer.Log
    private let respond: @Sendable (ReceivedRequest) -> [Step]
    private var received = ""
    private var isResolved = false

    init(log: ScriptedServer.Log, respond: @escaping @Sendable (ReceivedRequest) -> [Step]) {
        self.log = log
        self.respond = respond
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += String(buffer: unwrapInboundIn(data))
        guard !isResolved, received.hasSuffix("\r\n\r\n") else { return }
        isResolved = true
        let request = log.requests.withLock { requests in
            let request = Self.parse(received, ordinal: requests.count)
            requests.append(request)
            return request
        }
        perform(respond(request)[...], context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func perform(_ steps: ArraySlice<Step>, _ context: ChannelHandlerContext) {
        guard let step = steps.first else { return context.close(promise: nil) }
        switch step {
        case .send(let bytes):
            let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)))
            written.assumeIsolated().whenSuccess { self.perform(steps.dropFirst(), context) }
        case .reset:
            guard let sockets = context.channel as? any SocketOptionProvider else { return }
            sockets.setSoLinger(linger(l_onoff: 1, l_linger: 0)).assumeIsolated().whenComplete { _ in
                context.close(promise: nil)
            }
        case .sever:
            let end = try? context.pipeline.syncOperations.context(handlerType: SocketEnd.self)
            end?.close(promise: nil)
        case .stall: return
        }
    }

    private static func parse(_ text: String, ordinal: Int) -> ReceivedRequest {
        let lines = text.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
        }
        return ReceivedRequest(
            ordinal: ordinal,
            method: String(words.first ?? ""),
            target: words.count > 1 ? String(words[1]) : "",
            fields: fields
        )
    }
}
