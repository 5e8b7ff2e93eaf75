#if TLS
    import HTTPTransport
    import NIOCore
    import NIOTLS

    /// Reports the result of a TLS handshake, and reads until then because no other handler does.
    final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer

        private let promise: EventLoopPromise<HTTPProtocol>

        init(_ promise: EventLoopPromise<HTTPProtocol>) { self.promise = promise }

        func handlerAdded(context: ChannelHandlerContext) {
            // A server connection starts reading by itself when it becomes active.
            if context.channel.isActive { context.read() }
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            context.fireChannelReadComplete()
            context.read()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
                // Without ALPN the protocol is HTTP/1.1.
                promise.succeed(negotiated.flatMap { HTTPProtocol(rawValue: $0) } ?? .http1)
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            }
            if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(TLSFailure(error) ?? error)
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
            context.fireChannelInactive()
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
        }
    }
#endif
