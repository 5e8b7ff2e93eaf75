#if TLS
    import NIOCore

    /// Tells a client that begins with a request in place of a handshake, in plain HTTP, that this is a server of HTTPS.
    ///
    /// The handshake's limit closes a connection whose client then neither closes it nor goes on.
    final class PlainRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private static let advice = "this is a server of HTTPS: write https:// in place of http://\n"
        /// What methods begin with; a TLS record begins with its type, 20 to 23 (RFC 8446, section 5.1).
        private static let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
        private var hasAnswered = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if hasAnswered { return }
            let bytes = unwrapInboundIn(data).readableBytesView
            guard let first = bytes.first, PlainRequestHandler.letters.contains(first) else {
                context.fireChannelRead(data)
                return context.pipeline.syncOperations.removeHandler(self, promise: nil)
            }
            hasAnswered = true
            let lines = [
                "HTTP/1.1 400 Bad Request", "Content-Type: text/plain", "Connection: close",
                "Content-Length: \(PlainRequestHandler.advice.utf8.count)", "", PlainRequestHandler.advice,
            ]
            let response = ByteBuffer(string: lines.joined(separator: "\r\n"))
            context.writeAndFlush(wrapOutboundOut(response), promise: nil)
            context.close(mode: .output, promise: nil)
        }
    }
#endif
