import HTTPSemantics
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Handles the upload requests of a connection or HTTP/2 stream, and forwards all others.
///
/// It is added after the codec for HTTP types. It serves an upload once all earlier responses have passed, and forwards
/// the next request once the upload's response is sent, so it needs no `HTTPServerPipelineHandler`.
public final class ResumableUploadHandler: ChannelDuplexHandler, RemovableChannelHandler {
    /// Request parts.
    public typealias InboundIn = HTTPRequestPart
    /// Request parts that aren't about uploads.
    public typealias InboundOut = HTTPRequestPart
    /// Response parts for these.
    public typealias OutboundIn = HTTPResponsePart
    /// Response parts.
    public typealias OutboundOut = HTTPResponsePart

    private struct ActiveRequest {
        let method: HTTPRequest.Method
        let exchange: UploadExchange
        /// Whether the connection closes after the response.
        var endsConnection: Bool
    }

    private enum State {
        /// Requests are forwarded to the next handler.
        case forwarding
        case serving(ActiveRequest)
        /// The response was sent; up to this many bytes of remaining content are discarded.
        case discarding(UploadExchange, Int)
        case closed
    }

    private let server: ResumableUploadServer
    private var state = State.forwarding
    private var isReadDelayed = false
    /// The last forwarded OPTIONS request, until its response has passed.
    private var options: HTTPRequest?
    /// The number of forwarded requests without a response.
    private var pendingResponses = 0
    /// Parts after a request that must be answered first. Nothing is read while it is non-empty, so it holds at most
    /// one read.
    private var queue = CircularBuffer<HTTPRequestPart>()
    private var isDelivering = false
    /// Whether the connection closes when the remaining content has been discarded.
    private var endsConnection = false
    /// The time limits of responses that the connection hasn't accepted yet, oldest first.
    private var unsent = CircularBuffer<Scheduled<Void>>()

    /// Makes the handler of one connection.
    public init(_ server: ResumableUploadServer) { self.server = server }

    private var limits: ResumableUploadServer.Configuration { server.configuration }

    /// Receives a request part.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .closed = state { return }
        queue.append(unwrapInboundIn(data))
        deliverQueue(context)
    }

    /// Processes queued parts up to a request that must wait.
    private func deliverQueue(_ context: ChannelHandlerContext) {
        guard !isDelivering else { return }
        isDelivering = true
        while let part = queue.first, !mustWait(part) {
            queue.removeFirst()
            take(part, context)
        }
        isDelivering = false
        releaseRead(context)
    }

    private func mustWait(_ part: HTTPRequestPart) -> Bool {
        guard case .head(let head) = part else { return false }
        switch state {
        case .serving: return true
        case .forwarding: return pendingResponses > 0 && server.handles(head)
        case .discarding, .closed: return false
        }
    }

    private func take(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        switch state {
        case .closed: break
        case .forwarding:
            if case .head(let head) = part {
                if server.handles(head) { return begin(head, context) }
                options = head.method == .options ? head : nil
                pendingResponses += 1
            }
            context.fireChannelRead(wrapInboundOut(part))
        case .discarding(let exchange, let rest):
            switch part {
            case .head: break
            case .body(let content):
                state = .discarding(exchange, rest - content.readableBytes)
                exchange.discard(content.readableBytes)
                if rest < content.readableBytes { close(context) }
            case .end:
                exchange.stop()
                state = .forwarding
                if endsConnection { close(context) }
            }
        case .serving(let active):
            switch part {
            case .head: break
            case .body(let content): active.exchange.contentArrived(content)
            case .end: active.exchange.contentEnded()
            }
        }
    }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        let exchange = UploadExchange(
            server.service,
            on: context.eventLoop,
            expectsContinue: UploadHead.expectsContinue(head.headerFields),
            throughput: ThroughputMonitor(rate: limits.minimumContentRate, window: limits.contentRateWindow)
        ) { [unowned self] in perform($0, context) }
        state = .serving(
            ActiveRequest(
                method: head.method,
                exchange: exchange,
                endsConnection: UploadHead.endsConnection(head.headerFields)
            )
        )
        // The end of the content is unknown (RFC 9112, section 6.3).
        if let length = head.headerFields[.contentLength], ContentLength.parse(length) == nil {
            return respond(.message(400, "Content-Length is not a number of bytes."), context, thenCloses: true)
        }
        var upload: UploadToken?
        exchange.start { connection in
            let begun = server.begin(head, on: context.channel, connection)
            upload = begun?.upload
            return begun?.id
        }
        guard let upload else { return respond(.message(404, "There is no such upload."), context) }
        exchange.whenRead = { [server] in server.whenRead(upload, $0) }
    }

    // MARK: - Reading

    /// Delays reads while enough content is buffered.
    public func read(context: ChannelHandlerContext) {
        if isFull { isReadDelayed = true } else { context.read() }
    }

    private var isFull: Bool {
        if !queue.isEmpty { return true }
        switch state {
        case .serving(let active): return active.exchange.buffered >= limits.bufferBytes
        // The response to the next request would be queued as well.
        case .forwarding: return !unsent.isEmpty
        case .discarding, .closed: return false
        }
    }

    private func releaseRead(_ context: ChannelHandlerContext) {
        guard isReadDelayed, !isFull else { return }
        isReadDelayed = false
        context.read()
    }

    // MARK: - Answering

    /// Forwards a response of the next handler. A successful one to OPTIONS gets the upload limits.
    public func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            context.write(data, promise: promise)
            pendingResponses = max(0, pendingResponses - 1)
            return deliverQueue(context)
        }
        guard let request = options, case .head(var head) = unwrapOutboundIn(data), head.status.kind != .informational
        else { return context.write(data, promise: promise) }
        options = nil
        if head.status.kind == .successful { server.addLimits(to: &head.headerFields, for: request) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    private func perform(_ action: UploadExchange.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .interim(let status, let fields): write(status, fields, context)
        case .respond(let response): respond(response, context)
        case .close: close(context)
        case .taken: releaseRead(context)
        case .timeOut:
            guard case .serving(let active) = state else { return close(context) }
            active.exchange.disconnect()
            respond(.message(408, "The content arrives too slowly."), context, thenCloses: true)
        }
    }

    private func write(_ status: Int, _ fields: HTTPFields, _ context: ChannelHandlerContext) {
        let head = HTTPResponse(status: .init(code: status), headerFields: fields)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Sends the final response. Closes the connection afterwards if the client asked for it, or if `thenCloses`.
    private func respond(_ response: UploadResponse, _ context: ChannelHandlerContext, thenCloses: Bool = false) {
        guard case .serving(let active) = state else { return }
        let hasEnded = active.exchange.hasEnded
        let closesNow = thenCloses || active.endsConnection && hasEnded
        endsConnection = active.endsConnection
        if closesNow || hasEnded {
            active.exchange.stop()
            state = closesNow ? .closed : .forwarding
        } else {
            active.exchange.waitForMore()
            state = .discarding(active.exchange, limits.maximumDiscardedBytes)
        }
        var fields = response.fields
        let hasContent = ![204, 304].contains(response.status)
        if hasContent { fields[.contentLength] = String(response.content.count) }
        // HTTP/2 has no such field; a client that sent it uses HTTP/1.
        if active.endsConnection || closesNow && isHTTP1(context) { fields[.connection] = "close" }
        let head = HTTPResponse(status: .init(code: response.status), headerFields: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        if hasContent, active.method != .head, !response.content.isEmpty {
            context.write(wrapOutboundOut(.body(ByteBuffer(bytes: response.content))), promise: nil)
        }
        let end = context.eventLoop.makePromise(of: Void.self)
        if closesNow { queue.removeAll() }
        unsent.append(
            context.eventLoop.assumeIsolated().scheduleTask(in: limits.sendTimeout) { self.close(context) }
        )
        end.futureResult.assumeIsolated().whenComplete { _ in
            self.unsent.popFirst()?.cancel()
            if closesNow { context.close(promise: nil) } else { self.releaseRead(context) }
        }
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: end)
        deliverQueue(context)
    }

    private func isHTTP1(_ context: ChannelHandlerContext) -> Bool {
        (try? context.pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)) != nil
    }

    // MARK: - The end of the connection

    private func close(_ context: ChannelHandlerContext) {
        abandon()
        context.close(promise: nil)
    }

    private func abandon() {
        queue.removeAll()
        switch state {
        case .serving(let active):
            active.exchange.disconnect()
            active.exchange.stop()
        case .discarding(let exchange, _): exchange.stop()
        case .forwarding, .closed: break
        }
        state = .closed
    }

    /// The connection closed: the upload can be resumed on another one.
    public func channelInactive(context: ChannelHandlerContext) {
        abandon()
        context.fireChannelInactive()
    }

    /// An invalid request or failed connection ends the current request.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .serving(var active) = state else { return context.fireErrorCaught(error) }
        // The invalid part follows the upload, which still gets its response before the connection closes.
        if active.exchange.hasEnded, error is HTTPParserError || error is ByteToMessageDecoderError {
            active.endsConnection = true
            state = .serving(active)
            return
        }
        close(context)
    }

    /// The handler was removed from the pipeline.
    public func handlerRemoved(context: ChannelHandlerContext) {
        while let limit = unsent.popFirst() { limit.cancel() }
        abandon()
    }
}
