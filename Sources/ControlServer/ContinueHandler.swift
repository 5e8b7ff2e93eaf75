#if Control
    import HTTPTypes
    import NIOCore
    import NIOHTTPTypes

    /// Answers `Expect: 100-continue` (RFC 9110, section 10.1.1), whose client holds its content back until then.
    final class ContinueHandler: ChannelDuplexHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPRequestPart
        typealias InboundOut = HTTPRequestPart
        typealias OutboundIn = HTTPResponsePart
        typealias OutboundOut = HTTPResponsePart

        /// The requests without a complete response. A response of 100 would come before that of an earlier request.
        private var pending = 0

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .head(let request) = unwrapInboundIn(data) {
                pending += 1
                if pending == 1, request.headerFields[.expect]?.lowercased() == "100-continue" {
                    context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
                }
            }
            context.fireChannelRead(data)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if case .end = unwrapOutboundIn(data) { pending -= 1 }
            context.write(data, promise: promise)
        }
    }
#endif
