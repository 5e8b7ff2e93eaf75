import NIOCore
import NIOHTTP1

/// Opens a tunnel to a server through a proxy on a fresh connection (CONNECT; RFC 9110, section 9.3.6).
///
/// NIOExtras has such a handler, but its errors omit the status and challenge of a refusal.
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let proxy: HTTPProxy
    private let authority: String
    private let promise: EventLoopPromise<Void>

    private init(_ proxy: HTTPProxy, _ authority: String, _ promise: EventLoopPromise<Void>) {
        self.proxy = proxy
        self.authority = authority
        self.promise = promise
    }

    /// Opens the tunnel on a connected channel without handlers, and removes its own handlers at the end. Called on the
    /// channel's loop.
    ///
    /// - Returns: success once the tunnel to `authority`, host and port, is open; an `HTTPProxyFailure` when the proxy
    ///   refuses, or the error of the connection.
    static func open(
        to authority: String,
        through proxy: HTTPProxy,
        on channel: any Channel
    ) -> EventLoopFuture<Void> {
        let promise = channel.eventLoop.makePromise(of: Void.self)
        let tunnel = ProxyTunnel(proxy, authority, promise)
        let encoder = HTTPRequestEncoder()
        let decoder = ByteToMessageHandler(HTTPConnector.makeDecoder())
        let pipeline = channel.pipeline.syncOperations
        do {
            try pipeline.addHandlers([encoder, decoder, tunnel])
        } catch {
            promise.fail(error)
            return promise.futureResult
        }
        let bound = NIOLoopBound((tunnel, decoder, encoder), eventLoop: channel.eventLoop)
        return promise.futureResult.flatMap {
            channel.pipeline.syncOperations.removeHandler(bound.value.0)
        }
        .flatMap { channel.pipeline.syncOperations.removeHandler(bound.value.1) }
        .flatMap { channel.pipeline.syncOperations.removeHandler(bound.value.2) }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        var head = HTTPRequestHead(version: .http1_1, method: .CONNECT, uri: authority)
        head.headers.add(name: "Host", value: authority)
        head.headers.add(name: "User-Agent", value: "squall")
        if let authorization = proxy.authorization {
            head.headers.add(name: "Proxy-Authorization", value: authorization)
        }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        guard !(100..<200).contains(head.status.code) else { return }
        guard (200..<300).contains(head.status.code) else {
            let challenge = head.headers[canonicalForm: "proxy-authenticate"].joined(separator: ", ")
            promise.fail(
                HTTPProxyFailure(
                    proxy: proxy,
                    status: Int(head.status.code),
                    challenge: challenge.isEmpty ? nil : challenge
                )
            )
            context.close(promise: nil)
            return
        }
        promise.succeed()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        promise.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(HTTPProxyFailure(proxy: proxy, status: nil, challenge: nil))
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        promise.fail(ChannelError.eof)
    }
}
