#if TLS
    import NIOCore
    import NIOHTTP2

    /// The server side of HTTP/2 (RFC 9113) on one connection.
    public enum HTTP2Server {
        /// What a connection is held to.
        public struct Limits: Sendable {
            /// The requests that may be under way at a time.
            public var streams: Int
            /// The longest head of a request, in bytes.
            public var headBytes: Int
            /// The bytes of a request's content that a client may send before they are read.
            public var window: Int
            /// How long a connection may be without a request.
            public var idleTimeout: TimeAmount

            /// Makes the limits.
            public init(streams: Int, headBytes: Int, window: Int, idleTimeout: TimeAmount) {
                self.streams = streams
                self.headBytes = headBytes
                self.window = window
                self.idleTimeout = idleTimeout
            }
        }

        /// Speaks HTTP/2 on a connection. To be called on its loop, as soon as its handshake has ended. A
        /// `ChannelShouldQuiesceEvent` lets the streams that are open end, and then ends the connection.
        ///
        /// - Parameter initialize: adds handlers to each stream, behind one that speaks the parts of NIO's HTTP/1 server. A
        ///   stream whose sending side is closed before its request has ended is reset without an error, which tells the client
        ///   to keep the answer and to send no more (RFC 9113, section 8.1).
        public static func start(
            on connection: any Channel,
            _ limits: Limits,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) throws {
            var configuration = NIOHTTP2Handler.ConnectionConfiguration()
            configuration.initialSettings = [
                HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streams),
                HTTP2Setting(parameter: .initialWindowSize, value: limits.window),
                HTTP2Setting(parameter: .maxHeaderListSize, value: limits.headBytes),
            ]
            configuration.targetWindowSize = limits.window
            var streams = NIOHTTP2Handler.StreamConfiguration()
            streams.targetWindowSize = limits.window
            let handler = NIOHTTP2Handler(
                mode: .server,
                eventLoop: connection.eventLoop,
                connectionConfiguration: configuration,
                streamConfiguration: streams
            ) { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.pipeline.syncOperations.addHandler(StreamEnd())
                    try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                    try initialize(stream)
                }
            }
            try connection.pipeline.syncOperations.addHandler(handler)
            try connection.pipeline.syncOperations.addHandler(ConnectionEnd(idleTimeout: limits.idleTimeout))
        }
    }

    /// Ends a connection that has no streams for too long, or that is told to.
    private final class ConnectionEnd: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        private let idleTimeout: TimeAmount
        private var streams = 0
        private var newest = HTTP2StreamID.rootStream
        private var isEnding = false
        private var timer: Scheduled<Void>?

        init(idleTimeout: TimeAmount) { self.idleTimeout = idleTimeout }

        func handlerAdded(context: ChannelHandlerContext) { startTimer(context) }

        func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // Frames of the connection, which the handler before has dealt with.
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event {
            case let event as NIOHTTP2StreamCreatedEvent:
                streams += 1
                newest = max(newest, event.streamID)
                timer?.cancel()
            case is StreamClosedEvent:
                streams -= 1
                guard streams == 0 else { return }
                if isEnding {
                    // Its last frames are flushed only after this event.
                    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
                    context.eventLoop.execute { bound.value.close(promise: nil) }
                } else {
                    startTimer(context)
                }
            case is ChannelShouldQuiesceEvent: end(context)
            default: context.fireUserInboundEventTriggered(event)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // The multiplexer tells streams of their own errors.
            if !(error is NIOHTTP2Errors.StreamError) { context.close(promise: nil) }
        }

        private func end(_ context: ChannelHandlerContext) {
            guard !isEnding else { return }
            isEnding = true
            let goAway = HTTP2Frame.FramePayload.goAway(lastStreamID: newest, errorCode: .noError, opaqueData: nil)
            context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: goAway)), promise: nil)
            if streams == 0 { context.close(promise: nil) }
        }

        private func startTimer(_ context: ChannelHandlerContext) {
            timer = context.eventLoop.assumeIsolated().scheduleTask(in: idleTimeout) { self.end(context) }
        }
    }

    /// Ends the server's side of a stream.
    private final class StreamEnd: ChannelDuplexHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias InboundOut = HTTP2Frame.FramePayload
        typealias OutboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        private var hasRequestEnded = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .headers(let headers): hasRequestEnded = hasRequestEnded || headers.endStream
            case .data(let content): hasRequestEnded = hasRequestEnded || content.endStream
            default: break
            }
            context.fireChannelRead(data)
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard mode == .output else { return context.close(mode: mode, promise: promise) }
            // The end of the answer has been sent, and ends a stream whose request has ended.
            guard !hasRequestEnded else {
                promise?.succeed()
                return
            }
            context.writeAndFlush(wrapOutboundOut(.rstStream(.noError)), promise: promise)
        }
    }
#endif
