import NIOCore
import NIOPosix
import Synchronization
import TestStreams

/// A loopback HTTP proxy that opens or refuses tunnels (CONNECT).
final class TunnelProxy: Sendable {
    private let heads = Mutex<[String]>([])
    private let bound = Mutex<(any Channel)?>(nil)
    fileprivate let respond: @Sendable (Int) -> String?

    var port: Int { bound.withLock { $0?.localAddress?.port ?? 0 } }
    /// The heads of the requests, in order.
    var requests: [String] { heads.withLock { $0 } }

    private init(_ respond: @escaping @Sendable (Int) -> String?) { self.respond = respond }

    /// Runs `body` against a proxy. `respond` returns the response to a request, by ordinal, instead of a tunnel.
    static func serve<Value>(
        _ respond: @escaping @Sendable (Int) -> String? = { _ in nil },
        _ body: (TunnelProxy) async throws -> Value
    ) async throws -> Value {
        let proxy = TunnelProxy(respond)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TunnelHandler(proxy))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        proxy.bound.withLock { $0 = channel }
        return try await ending(proxy, after: body) { try await channel.close() }
    }

    fileprivate func note(_ head: String) -> Int {
        heads.withLock { heads in
            heads.append(head)
            return heads.count - 1
        }
    }
}

private final class TunnelHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer
    private let proxy: TunnelProxy
    private var received = ""
    private var peer: (any Channel)?

    init(_ proxy: TunnelProxy) { self.proxy = proxy }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if let peer { return peer.writeAndFlush(unwrapInboundIn(data), promise: nil) }
        received += String(buffer: unwrapInboundIn(data))
        guard received.hasSuffix("\r\n\r\n") else { return }
        let ordinal = proxy.note(received)
        if let response = proxy.respond(ordinal) {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
            return context.close(promise: nil)
        }
        let port = received.split(separator: " ")[1].split(separator: ":").last.flatMap { Int($0) } ?? 0
        let client = context.channel
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(BackHandler(client))
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .whenSuccess { channel in
                bound.value.peer = channel
                client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
            }
    }

    func channelInactive(context: ChannelHandlerContext) { peer?.close(promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// Forwards the server's bytes to the client of a tunnel.
private final class BackHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let client: any Channel

    init(_ client: any Channel) { self.client = client }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        client.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
