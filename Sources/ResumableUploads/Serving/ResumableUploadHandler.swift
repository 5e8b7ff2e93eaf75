import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

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
        let head: HTTPRequest
        let start: NIODeadline
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

    private let host: any UploadHost
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
    private var unsent = CircularBuffer<Scheduled<Void>?>()

    /// Makes the handler of one connection.
    public convenience init(_ server: ResumableUploadServer) { self.init(host: server) }

    package init(host: any UploadHost) { self.host = host }

    /// Receives a request part.
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .closed = state { return }
        if host.isOver { return }
        queue.append(unwrapInboundIn(data))
        deliverQueue(context)
    }

    /// Processes queued parts up to a request that must wait.
    private func deliverQueue(_ context: ChannelHandlerContext) {
        guard !isDelivering else { return }
        isDelivering = true
        while let part = queue.first, !mustWait(part) {
            queue.removeFirst()
            deliver(part, context)
        }
        isDelivering = false
        releaseRead(context)
    }

    private func mustWait(_ part: HTTPRequestPart) -> Bool {
        guard case .head(let head) = part else { return false }
        switch state {
        case .serving: return true
        case .forwarding:
            guard pendingResponses > 0 else { return false }
            if case .forward = host.route(head) { return false }
            return true
        case .discarding, .closed: return false
        }
    }

    private func deliver(_ part: HTTPRequestPart, _ context: ChannelHandlerContext) {
        switch (state, part) {
        case (.closed, _), (.discarding, .head), (.serving, .head): break
        case (.forwarding, .head(let head)):
            let route = host.route(head)
            guard case .forward = route else { return begin(head, route, context) }
            options = head.method == .options ? head : nil
            pendingResponses += 1
            context.fireChannelRead(wrapInboundOut(part))
        case (.forwarding, _): context.fireChannelRead(wrapInboundOut(part))
        case (.discarding(let exchange, let rest), .body(let content)):
            state = .discarding(exchange, rest - content.readableBytes)
            exchange.discard(content.readableBytes)
            if rest < content.readableBytes { close(context) }
        case (.discarding(let exchange, _), .end):
            exchange.stop()
            state = .forwarding
            host.note(.received, context)
            if endsConnection { close(context) }
        case (.serving(let active), .body(let content)): active.exchange.contentArrived(content)
        case (.serving(let active), .end):
            host.note(.received, context)
            active.exchange.contentEnded()
        }
    }

    private func begin(_ head: HTTPRequest, _ route: UploadRoute, _ context: ChannelHandlerContext) {
        host.note(.delegated, context)
        let exchange = UploadExchange(
            host.service,
            on: context.eventLoop,
            expectsContinue: head.awaitsContinue,
            throughput: ThroughputMonitor(
                rate: host.configuration.minimumContentRate,
                window: host.configuration.contentRateWindow
            )
        ) { [unowned self] in perform($0, context) }
        state = .serving(
            ActiveRequest(
                head: head,
                start: context.eventLoop.now,
                exchange: exchange,
                endsConnection: host.endsConnection(after: head)
            )
        )
        switch route {
        case .forward: break
        case .respond(let response, let isLast): respond(response, context, isLast: isLast)
        case .upload(let request): exchange.start(request, head, context.channel)
        }
    }

    // MARK: - Reading

    /// Delays reads while enough content is buffered.
    public func read(context: ChannelHandlerContext) {
        if isFull { isReadDelayed = true } else { context.read() }
    }

    private var isFull: Bool {
        if !queue.isEmpty { return true }
        switch state {
        case .serving(let active): return active.exchange.buffered >= host.configuration.bufferBytes
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
        if head.status.kind == .successful { host.addLimits(to: &head.headerFields, for: request) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }

    private func perform(_ action: UploadExchange.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .interim(let status, let fields):
            host.write(.head(HTTPResponse(status: .init(code: status), headerFields: fields)), nil, context)
            context.flush()
        case .respond(let response): respond(response, context)
        case .close: close(context)
        case .taken: releaseRead(context)
        case .timeOut:
            guard case .serving(let active) = state else { return close(context) }
            active.exchange.disconnect()
            respond(.message(408, "The content arrives too slowly."), context, isLast: true)
        }
    }

    /// Sends the final response; the connection ends with it if asked, or if content is missing that isn't discarded.
    private func respond(_ response: UploadResponse, _ context: ChannelHandlerContext, isLast: Bool = false) {
        guard case .serving(let active) = state else { return }
        let (exchange, isManaged) = (active.exchange, host.isConnectionManaged)
        let hasAll = exchange.hasEnded || host.contentLength(of: active.head) == 0
        let closesNow = isLast || (hasAll ? active.endsConnection : isManaged)
        endsConnection = active.endsConnection
        if closesNow || exchange.hasEnded {
            exchange.stop()
            state = closesNow ? .closed : .forwarding
        } else {
            exchange.waitForMore()
            state = .discarding(exchange, host.configuration.maximumDiscardedBytes)
        }
        if closesNow {
            queue.removeAll()
            host.note(.endsConnection, context)
        }
        var fields = response.fields
        let hasContent = ![204, 304].contains(response.status)
        if hasContent { fields[.contentLength] = String(response.content.count) }
        if active.endsConnection, !isManaged { fields[.connection] = "close" }
        host.complete(&fields, isLast: closesNow, context)
        let head = HTTPResponse(status: .init(code: response.status), headerFields: fields)
        host.write(.head(head), nil, context)
        if hasContent, active.head.method != .head, !response.content.isEmpty {
            host.write(.body(ByteBuffer(bytes: response.content)), nil, context)
        }
        report(active, response.status)
        let end = context.eventLoop.makePromise(of: Void.self)
        unsent.append(
            isManaged
                ? nil
                : context.eventLoop.assumeIsolated().scheduleTask(in: host.configuration.sendTimeout) {
                    self.close(context)
                }
        )
        end.futureResult.assumeIsolated().whenComplete { _ in
            self.unsent.popFirst()??.cancel()
            if closesNow, !isManaged { context.close(promise: nil) } else { self.releaseRead(context) }
        }
        host.write(.end(nil), end, context)
        context.flush()
        deliverQueue(context)
    }

    private func report(_ active: ActiveRequest, _ status: Int?) {
        host.report(
            UploadReport(
                head: active.head,
                status: status,
                bytesReceived: active.exchange.received,
                start: active.start
            )
        )
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
            report(active, nil)
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
        let isInvalid = error is HTTPParserError && context.channel.isActive
        if case .dataReceivedInErrorState? = error as? ByteToMessageDecoderError { return }
        if !active.exchange.hasEnded {
            active.exchange.disconnect()
            // NIO's own handler of errors has answered already.
            let pipeline = context.pipeline.syncOperations
            let isAnswered = (try? pipeline.handler(type: HTTPServerProtocolErrorHandler.self)) != nil
            guard isInvalid, !isAnswered || host.isConnectionManaged else { return close(context) }
            return respond(.message(400, "The content is not valid."), context, isLast: true)
        }
        if host.isConnectionManaged { return context.fireErrorCaught(error) }
        guard isInvalid else { return close(context) }
        // The invalid part follows the upload, which still gets its response before the connection closes.
        active.endsConnection = true
        state = .serving(active)
    }

    /// The handler was removed from the pipeline.
    public func handlerRemoved(context: ChannelHandlerContext) {
        while let limit = unsent.popFirst() { limit?.cancel() }
        abandon()
    }
}
