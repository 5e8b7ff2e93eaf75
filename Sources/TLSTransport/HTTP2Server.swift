#if TLS
    import HTTPTransport
    import NIOCore
    import NIOHTTP2
    import NIOHTTPTypesHTTP2

    /// The server side of HTTP/2 (RFC 9113) on one connection.
    enum HTTP2Server {
        /// Starts HTTP/2 on a connection, see `ServerTLS.startHTTP2`.
        static func start(
            on connection: any Channel,
            _ limits: HTTP2Limits,
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
            let errors = GoAwayDetector()
            let end = ConnectionLifecycle(limits, errors)
            let bound = NIOLoopBound(end, eventLoop: connection.eventLoop)
            let handler = NIOHTTP2Handler(
                mode: .server,
                eventLoop: connection.eventLoop,
                connectionConfiguration: configuration,
                streamConfiguration: streams,
                streamDelegate: StreamCounter(end: bound)
            ) { stream in
                stream.eventLoop.makeCompletedFuture {
                    // The limit applies to clients only after they acknowledge it.
                    guard bound.value.hasRoom else {
                        return try stream.pipeline.syncOperations.addHandler(StreamRefuser())
                    }
                    try stream.pipeline.syncOperations.addHandler(EarlyResponseReset())
                    try stream.pipeline.syncOperations.addHandler(HTTP2FramePayloadToHTTPServerCodec())
                    try initialize(stream)
                }
            }
            try connection.pipeline.syncOperations.addHandler(errors)
            try connection.pipeline.syncOperations.addHandler(handler)
            try connection.pipeline.syncOperations.addHandler(end)
        }
    }

    /// Reports streams to `ConnectionLifecycle`; no channel event does.
    private struct StreamCounter: NIOHTTP2StreamDelegate {
        let end: NIOLoopBound<ConnectionLifecycle>

        func streamCreated(_ id: HTTP2StreamID, channel: any Channel) { end.value.streamCreated(id) }

        func streamClosed(_ id: HTTP2StreamID, channel: any Channel) { end.value.streamClosed() }
    }

    /// Closes a connection on idle timeout, on error, and at shutdown.
    private final class ConnectionLifecycle: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame
        typealias OutboundOut = HTTP2Frame

        private let limits: HTTP2Limits
        private let errors: GoAwayDetector
        private var context: ChannelHandlerContext?
        private var streams = 0
        private var newest = HTTP2StreamID.rootStream
        private var isEnding = false
        private var timer: Scheduled<Void>?

        init(_ limits: HTTP2Limits, _ errors: GoAwayDetector) {
            self.limits = limits
            self.errors = errors
        }

        /// Whether another stream is accepted.
        var hasRoom: Bool { streams < limits.streams }

        func handlerAdded(context: ChannelHandlerContext) {
            self.context = context
            startTimer(context)
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            timer?.cancel()
            self.context = nil
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            // Connection-level frames, already handled by the HTTP/2 handler.
        }

        func streamCreated(_ id: HTTP2StreamID) {
            streams += 1
            newest = max(newest, id)
            timer?.cancel()
        }

        func streamClosed() {
            streams -= 1
            guard streams == 0, let context else { return }
            guard isEnding else { return startTimer(context) }
            // The last frames are flushed only after this event.
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.eventLoop.execute { bound.value.close(promise: nil) }
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            switch event {
            case is ChannelShouldQuiesceEvent: end(context)
            // Without acknowledgements from the client no stream gets far.
            case let event as ChannelEvent where event == .inputClosed: context.close(promise: nil)
            default: context.fireUserInboundEventTriggered(event)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // A stream error resets only that stream; the connection continues (RFC 9113, section 5.4.2).
            let isOfStream = error is NIOHTTP2Errors.StreamError
            guard isOfStream || error is any NIOHTTP2Error && !isEnding && !errors.hasSentError else {
                return context.close(promise: nil)
            }
        }

        private func end(_ context: ChannelHandlerContext) {
            guard !isEnding else { return }
            isEnding = true
            timer?.cancel()
            let goAway = HTTP2Frame.FramePayload.goAway(lastStreamID: newest, errorCode: .noError, opaqueData: nil)
            context.writeAndFlush(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: goAway)), promise: nil)
            if streams == 0 { context.close(promise: nil) }
        }

        private func startTimer(_ context: ChannelHandlerContext) {
            timer = context.eventLoop.assumeIsolated().scheduleTask(in: limits.idleTimeout) { self.end(context) }
        }
    }

    /// Refuses a stream: the client may retry the request (RFC 9113, section 8.7).
    private final class StreamRefuser: ChannelInboundHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .headers = unwrapInboundIn(data) else { return }
            context.writeAndFlush(wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
        }
    }

    /// Detects an outgoing GOAWAY frame with an error code: NIO reports connection and stream errors alike.
    private final class GoAwayDetector: ChannelOutboundHandler {
        typealias OutboundIn = IOData

        /// Whether the connection has failed.
        private(set) var hasSentError = false
        /// The remaining bytes of a partly written frame. Each write starts with a frame header or with these bytes.
        private var rest = 0

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            inspect(unwrapOutboundIn(data))
            context.write(data, promise: promise)
        }

        /// A frame header has 9 bytes; the payload of GOAWAY is the last stream ID and an error code (RFC 9113, section
        /// 6.8).
        private func inspect(_ data: IOData) {
            guard case .byteBuffer(let bytes) = data else {
                rest = max(0, rest - data.readableBytes)
                return
            }
            var start = bytes.readerIndex + rest
            rest = max(0, rest - bytes.readableBytes)
            while rest == 0, start < bytes.writerIndex {
                // A server sends only frames; its preface is a SETTINGS frame.
                guard let high: UInt8 = bytes.getInteger(at: start), let low: UInt16 = bytes.getInteger(at: start + 1),
                    let type: UInt8 = bytes.getInteger(at: start + 3)
                else { return }
                if type == 7, let code: UInt32 = bytes.getInteger(at: start + 13), code != 0 { hasSentError = true }
                start += 9 + Int(high) << 16 + Int(low)
                rest = max(0, start - bytes.writerIndex)
            }
        }
    }

    /// Resets a stream whose response is complete before its request.
    private final class EarlyResponseReset: ChannelDuplexHandler {
        typealias InboundIn = HTTP2Frame.FramePayload
        typealias InboundOut = HTTP2Frame.FramePayload
        typealias OutboundIn = HTTP2Frame.FramePayload
        typealias OutboundOut = HTTP2Frame.FramePayload

        private var hasRequestEnded = false
        /// The end of the response, which must be sent before a reset.
        private var responseEnd: EventLoopFuture<Void>?

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .headers(let headers): hasRequestEnded = hasRequestEnded || headers.endStream
            case .data(let content): hasRequestEnded = hasRequestEnded || content.endStream
            default: break
            }
            context.fireChannelRead(data)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            let isEnd =
                switch unwrapOutboundIn(data) {
                case .headers(let headers): headers.endStream
                case .data(let content): content.endStream
                default: false
                }
            guard isEnd else { return context.write(data, promise: promise) }
            let promise = promise ?? context.eventLoop.makePromise()
            responseEnd = promise.futureResult
            context.write(data, promise: promise)
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            guard mode == .output else { return context.close(mode: mode, promise: promise) }
            // The end of the response closes a stream whose request is complete.
            guard !hasRequestEnded else {
                promise?.succeed()
                return
            }
            let reset = wrapOutboundOut(.rstStream(.noError))
            guard let responseEnd else { return context.writeAndFlush(reset, promise: promise) }
            responseEnd.assumeIsolated().whenSuccess { context.writeAndFlush(reset, promise: promise) }
        }
    }
#endif
