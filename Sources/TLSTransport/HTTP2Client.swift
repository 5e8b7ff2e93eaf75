#if TLS
    import HTTPTransport
    import NIOCore
    import NIOHTTP2
    import NIOHTTPTypesHTTP2

    /// The client side of HTTP/2 (RFC 9113): one stream at a time on a connection, each for one request.
    enum HTTP2Client {
        /// The flow-control window of a response's content: 1 MiB. Bounds the bytes in memory.
        static let window = 1 << 20
        /// The maximum size of a received frame: 64 KiB. Each frame costs processor time; the default is 16 KiB.
        static let maximumFrameSize = 64 << 10
        /// The maximum size of a response's header or trailer section, in bytes.
        static let maximumHeadSize = 64 << 10
        /// The bytes of a request that may be queued before the stream becomes unwritable: 64 KiB.
        static let writeHighWatermark = 64 << 10

        /// Opens a stream, see `ClientTLS.openStream`.
        static func openStream(
            on connection: any Channel,
            isLast: Bool,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) -> EventLoopFuture<any Channel> {
            let promise = connection.eventLoop.makePromise(of: (any Channel).self)
            do {
                let (streams, errors) = try started(on: connection)
                streams.createStreamChannel(promise: promise) { stream in
                    stream.eventLoop.makeCompletedFuture {
                        try stream.pipeline.syncOperations.addHandler(StatusReader())
                        try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTPClientCodec())
                        try stream.pipeline.syncOperations.addHandler(HTTP2ErrorReader())
                        try initialize(stream)
                    }
                }
                let bound = NIOLoopBound(errors, eventLoop: connection.eventLoop)
                return promise.futureResult.map { stream in
                    bound.value.stream = stream
                    if isLast { stream.closeFuture.whenComplete { _ in connection.close(promise: nil) } }
                    // The flow-control window bounds unread stream data; other frames belong to the connection.
                    connection.setOption(.autoRead, value: true).whenSuccess { connection.read() }
                    return stream
                }
            } catch {
                return connection.eventLoop.makeFailedFuture(error)
            }
        }

        /// The handlers of a connection; adds them the first time.
        private static func started(
            on connection: any Channel
        ) throws -> (HTTP2StreamMultiplexer, ConnectionErrorForwarder) {
            let pipeline = connection.pipeline.syncOperations
            if let errors = try? pipeline.handler(type: ConnectionErrorForwarder.self) {
                return (try pipeline.handler(type: HTTP2StreamMultiplexer.self), errors)
            }
            let streams = HTTP2StreamMultiplexer(
                mode: .client,
                channel: connection,
                targetWindowSize: window,
                outboundBufferSizeHighWatermark: writeHighWatermark,
                outboundBufferSizeLowWatermark: writeHighWatermark / 2
            ) { pushed in
                // Server push is disabled, so a pushed stream is a protocol violation (RFC 9113, section 6.5.2).
                pushed.close()
            }
            let errors = ConnectionErrorForwarder()
            try pipeline.addHandler(
                NIOHTTP2Handler(mode: .client, connectionConfiguration: connectionConfiguration)
            )
            try pipeline.addHandlers(DataFrameCopier(), streams, errors)
            return (streams, errors)
        }

        private static var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
            var configuration = NIOHTTP2Handler.ConnectionConfiguration()
            configuration.initialSettings = [
                HTTP2Setting(parameter: .enablePush, value: 0),
                HTTP2Setting(parameter: .initialWindowSize, value: window),
                HTTP2Setting(parameter: .maxFrameSize, value: maximumFrameSize),
                HTTP2Setting(parameter: .maxHeaderListSize, value: maximumHeadSize),
            ]
            return configuration
        }
    }

    /// Ends a stream that the codec after it doesn't: it reads other numbers as a status, ends the process for an empty one, and
    /// takes an interim response for one that another follows (RFC 9113, sections 8.1 and 8.3.2).
    private final class StatusReader: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias InboundOut = HTTP2Frame.FramePayload

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .headers(let headers) = unwrapInboundIn(data), let status = headers.headers[":status"].first,
                let problem = StatusReader.problem(status, isLast: headers.endStream)
            else { return context.fireChannelRead(data) }
            context.fireErrorCaught(HTTP2Failure(problem, kind: .other))
            context.close(promise: nil)
        }

        private static func problem(_ status: String, isLast: Bool) -> String? {
            guard status.utf8.count == 3, Int(status) ?? 0 >= 100 else {
                return "the status of the answer isn't a number from 100 to 999"
            }
            return isLast && status.hasPrefix("1") ? "the stream ends with an interim answer" : nil
        }
    }

    /// Forwards the error of a connection to its stream, which would otherwise only close.
    private final class ConnectionErrorForwarder: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame

        var stream: (any Channel)?

        /// Reads the frames of the connection. The HTTP/2 handler has handled them, but for the reason with which it then ends
        /// the streams that the server hasn't processed (RFC 9113, section 6.8).
        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .goAway(let last, _, _) = unwrapInboundIn(data).payload, let stream,
                let id = try? stream.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID), id > last
            else { return }
            stream.pipeline.fireErrorCaught(HTTP2Failure("the server refused the stream", kind: .streamRefused))
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // The multiplexer reports stream errors itself.
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
