#if Control
    import ControlAPI
    import HTTPTypes
    import NIOCore
    import NIOHTTP1
    import NIOHTTPTypes

    /// Decides about each request of a connection by its head, before its content is kept anywhere.
    ///
    /// Answers `Expect: 100-continue` (RFC 9110, section 10.1.1), whose client holds its content back until then. Drops the
    /// content of a refused request, so that its client can send all of it and reads the response. Notes when the client
    /// ends its stream, and closes the connection of one that takes nothing.
    final class RequestHeadHandler: ChannelDuplexHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPRequestPart
        typealias InboundOut = HTTPRequestPart
        typealias OutboundIn = HTTPResponsePart
        typealias OutboundOut = HTTPResponsePart

        /// The most bytes of a refused request's content that are received: 16 MiB; then the connection is closed.
        static let dropLimit = 16 << 20

        /// The client, for the requests whose responses wait.
        let client = ClientPresence()
        private let isRefused: @Sendable (HTTPRequest) -> Bool
        /// The time in which the rest of a refused request's content has to come.
        private let dropTime: TimeAmount
        /// The requests without a complete response. A response of 100 would come before that of an earlier request.
        private var pending = 0
        /// The bytes that were dropped of the current request; `nil` while its content is passed on.
        private var dropped: Int?
        private var deadline: Scheduled<Void>?
        private var hasContentToCome = false
        /// The time in which a client has to take 32 KiB once 64 KiB wait for it.
        private let stallTime: TimeAmount
        private var stall: Scheduled<Void>?

        /// A handler that drops the contents of requests for which `isRefused` holds.
        init(
            dropTime: TimeAmount,
            stallTime: TimeAmount,
            isRefused: @escaping @Sendable (HTTPRequest) -> Bool
        ) {
            (self.dropTime, self.stallTime) = (dropTime, stallTime)
            self.isRefused = isRefused
        }

        func handlerAdded(context: ChannelHandlerContext) {
            let pipeline = context.pipeline.syncOperations
            guard let decoder = try? pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self) else {
                return
            }
            try? pipeline.addHandler(HTTP1HeadHandler(), position: .after(decoder))
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let request):
                pending += 1
                hasContentToCome = true
                if isRefused(request) {
                    dropRest(on: context.channel)
                } else if pending == 1, request.headerFields[.expect]?.lowercased() == "100-continue" {
                    context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
                }
            case .body(let part):
                guard let count = dropped else { break }
                dropped = count + part.readableBytes
                if count + part.readableBytes > RequestHeadHandler.dropLimit { context.close(promise: nil) }
                return
            case .end:
                hasContentToCome = false
                endDropping()
            }
            context.fireChannelRead(data)
        }

        /// Drops what is still to come of the current request's content. If that isn't all of it in time, the connection
        /// is closed. To be called on the channel's loop.
        func dropRest(on channel: any Channel) {
            guard hasContentToCome, dropped == nil else { return }
            dropped = 0
            deadline = channel.eventLoop.scheduleTask(in: dropTime) { channel.close(promise: nil) }
        }

        private func endDropping() {
            dropped = nil
            deadline?.cancel()
            deadline = nil
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if case .end = unwrapOutboundIn(data) { pending -= 1 }
            context.write(data, promise: promise)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .inputClosed? = event as? ChannelEvent { client.leave() }
            context.fireUserInboundEventTriggered(event)
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            stall?.cancel()
            let channel = context.channel
            stall =
                channel.isWritable
                ? nil : channel.eventLoop.scheduleTask(in: stallTime) { channel.close(promise: nil) }
            context.fireChannelWritabilityChanged()
        }

        func channelInactive(context: ChannelHandlerContext) {
            stall?.cancel()
            endDropping()
            client.leave()
            context.fireChannelInactive()
        }
    }

    /// Applies the rules of HTTP/1 for which the server needs the version: refuses requests without one `Host` (RFC 9112,
    /// section 3.2), has connections closed that aren't to persist (section 9.3), and sends clients of HTTP/1.0 no transfer
    /// coding (section 6.1).
    private final class HTTP1HeadHandler: ChannelDuplexHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias InboundOut = HTTPServerRequestPart
        typealias OutboundIn = HTTPServerResponsePart
        typealias OutboundOut = HTTPServerResponsePart

        /// The version of the first request, which a client doesn't change.
        private var version: HTTPVersion?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
            let hosts = head.headers["host"].count
            guard hosts == 1 || hosts == 0 && head.version == .http1_0 else {
                return context.fireErrorCaught(HTTPParserError.invalidHeaderToken)
            }
            version = version ?? head.version
            // The form that the server knows. In HTTP/1.0 the end of a response may be that of its connection.
            if !head.isKeepAlive || version == .http1_0 {
                head.headers.replaceOrAdd(name: "connection", value: "close")
            }
            context.fireChannelRead(wrapInboundOut(.head(head)))
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard version == .http1_0, case .head(var head) = unwrapOutboundIn(data) else {
                return context.write(data, promise: promise)
            }
            // The encoder uses no transfer coding then.
            head.version = .http1_0
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        }
    }
#endif
