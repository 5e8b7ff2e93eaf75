#if TLS
    import NIOCore
    import NIOHTTP2
    import NIOHTTPTypesHTTP2

    /// The client side of HTTP/2 (RFC 9113): one stream on a connection, for one request.
    public enum HTTP2Client {
        /// The bytes of a body that a server may send before they are read: 1 MiB. So many are in memory at most.
        static let window = 1 << 20
        /// The longest frame of a body, in bytes: 64 KiB. Each frame costs processor time, and the default is 16 KiB.
        static let longestFrame = 64 << 10
        /// The longest head of a response or of its trailers, in bytes.
        static let longestHead = 64 << 10
        /// The bytes of a request that may wait for the server to take them, until no more are asked for: 64 KiB.
        static let mostUntaken = 64 << 10

        /// Speaks HTTP/2 on a connection, and opens a stream on it. To be called on the loop of the connection, as soon as its
        /// handshake has ended.
        ///
        /// - Parameter initialize: adds handlers to the stream, behind one that speaks `HTTPRequestPart` and `HTTPResponsePart`.
        /// - Returns: the stream. The connection ends with it.
        public static func openStream(
            on connection: any Channel,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) -> EventLoopFuture<any Channel> {
            let handler = NIOHTTP2Handler(
                mode: .client,
                eventLoop: connection.eventLoop,
                connectionConfiguration: connectionConfiguration,
                streamConfiguration: streamConfiguration
            ) { pushed in
                // Pushes were declined, and a server that pushes breaks the protocol (RFC 9113, section 6.5.2).
                pushed.close()
            }
            let errors = ConnectionErrors()
            do {
                try connection.pipeline.syncOperations.addHandler(handler)
                try connection.pipeline.syncOperations.addHandler(errors)
                let promise = connection.eventLoop.makePromise(of: (any Channel).self)
                try handler.syncMultiplexer().createStreamChannel(promise: promise) { stream in
                    stream.eventLoop.makeCompletedFuture {
                        try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTPClientCodec())
                        try initialize(stream)
                    }
                }
                let bound = NIOLoopBound(errors, eventLoop: connection.eventLoop)
                return promise.futureResult.map { stream in
                    bound.value.stream = stream
                    stream.closeFuture.whenComplete { _ in connection.close(promise: nil) }
                    // What a stream doesn't take is bounded by its window, and the others are frames of the connection.
                    connection.setOption(.autoRead, value: true).whenSuccess { connection.read() }
                    return stream
                }
            } catch {
                return connection.eventLoop.makeFailedFuture(error)
            }
        }

        private static var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
            var configuration = NIOHTTP2Handler.ConnectionConfiguration()
            configuration.initialSettings = [
                HTTP2Setting(parameter: .enablePush, value: 0),
                HTTP2Setting(parameter: .initialWindowSize, value: window),
                HTTP2Setting(parameter: .maxFrameSize, value: longestFrame),
                HTTP2Setting(parameter: .maxHeaderListSize, value: longestHead),
            ]
            configuration.targetWindowSize = window
            return configuration
        }

        private static var streamConfiguration: NIOHTTP2Handler.StreamConfiguration {
            var configuration = NIOHTTP2Handler.StreamConfiguration()
            configuration.targetWindowSize = window
            configuration.outboundBufferSizeHighWatermark = mostUntaken
            configuration.outboundBufferSizeLowWatermark = mostUntaken / 2
            return configuration
        }
    }

    /// Tells the one stream of a connection why the connection fails; by itself it would only end.
    private final class ConnectionErrors: ChannelInboundHandler {
        typealias InboundIn = Never

        var stream: (any Channel)?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // Frames of the connection, which the handler before has dealt with.
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // The multiplexer tells streams of their own errors.
            if error is NIOHTTP2Errors.StreamError { return }
            stream?.pipeline.fireErrorCaught(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            stream = nil
            context.fireChannelInactive()
        }
    }
#endif
