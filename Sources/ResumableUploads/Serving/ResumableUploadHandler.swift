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
        var id: UploadRequestID?
        var upload: UploadToken?
        var buffer = ByteBuffer()
        var hasEnded = false
        var isContentRequested = false
        var expectsContinue: Bool
        /// Whether the client waits for a 100 before it sends content.
        var awaitsContinue: Bool
        /// Whether the connection closes after the response.
        var endsConnection: Bool
    }

    private enum State {
        /// Requests are forwarded to the next handler.
        case forwarding
        case serving(ActiveRequest)
        /// The response was sent; up to this many bytes of remaining content are discarded.
        case discarding(Int)
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
    private var throughput: ThroughputMonitor
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?
    /// The time limits of responses that the connection hasn't accepted yet, oldest first.
    private var unsent = CircularBuffer<Scheduled<Void>>()

    /// Makes the handler of one connection.
    public init(_ server: ResumableUploadServer) {
        self.server = server
        throughput = Self.throughput(server.configuration)
    }

    private static func throughput(_ limits: ResumableUploadServer.Configuration) -> ThroughputMonitor {
        ThroughputMonitor(rate: limits.minimumContentRate, window: limits.contentRateWindow)
    }

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
        case .discarding(let rest):
            switch part {
            case .head: break
            case .body(let content):
                state = .discarding(rest - content.readableBytes)
                throughput.bytesArrived(content.readableBytes, at: context.eventLoop.now)
                throughput.waitBegan(at: context.eventLoop.now)
                if rest < content.readableBytes { close(context) }
            case .end:
                state = .forwarding
                setTimer(context)
                if endsConnection { close(context) }
            }
        case .serving:
            change { active in
                switch part {
                case .head: break
                case .body(var content):
                    active.awaitsContinue = false
                    throughput.bytesArrived(content.readableBytes, at: context.eventLoop.now)
                    if active.buffer.readableBytes == 0 {
                        active.buffer = content
                    } else {
                        active.buffer.writeBuffer(&content)
                    }
                case .end:
                    throughput.bytesArrived(0, at: context.eventLoop.now)
                    active.hasEnded = true
                }
            }
            deliver(context)
        }
    }

    private func begin(_ head: HTTPRequest, _ context: ChannelHandlerContext) {
        let expectsContinue = UploadHead.expectsContinue(head.headerFields)
        throughput = Self.throughput(limits)
        state = .serving(
            ActiveRequest(
                method: head.method,
                expectsContinue: expectsContinue,
                awaitsContinue: expectsContinue,
                endsConnection: UploadHead.endsConnection(head.headerFields)
            )
        )
        // The end of the content is unknown (RFC 9112, section 6.3).
        if let length = head.headerFields[.contentLength], ContentLength.parse(length) == nil {
            return respond(.message(400, "Content-Length is not a number of bytes."), context, thenCloses: true)
        }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        let begun = server.begin(head, on: context.channel) { action in
            loop.execute {
                let (handler, context) = bound.value
                handler.perform(action, context)
            }
        }
        guard let begun else { return respond(.message(404, "There is no such upload."), context) }
        change { active in
            active.id = begun.id
            active.upload = begun.upload
        }
    }

    /// Modifies the current request in place, releasing the state's reference so that its buffer isn't copied.
    private func change(_ body: (inout ActiveRequest) -> Void) {
        guard case .serving(var active) = state else { return }
        state = .forwarding
        body(&active)
        state = .serving(active)
    }

    /// Delivers received content if it was requested.
    private func deliver(_ context: ChannelHandlerContext) {
        guard case .serving(let active) = state, let id = active.id else { return }
        if active.isContentRequested, active.buffer.readableBytes > 0 {
            let bytes = Array(active.buffer.readableBytesView)
            change { active in
                active.buffer = ByteBuffer()
                active.isContentRequested = false
            }
            server.handle(.content(id, bytes))
        } else if active.isContentRequested, active.hasEnded {
            change { $0.isContentRequested = false }
            server.handle(.contentEnded(id))
        } else if active.isContentRequested, !active.awaitsContinue {
            throughput.waitBegan(at: context.eventLoop.now)
        }
        releaseRead(context)
        setTimer(context)
    }

    // MARK: - Reading

    /// Delays reads while enough content is buffered.
    public func read(context: ChannelHandlerContext) {
        if isFull { isReadDelayed = true } else { context.read() }
    }

    private var isFull: Bool {
        if !queue.isEmpty { return true }
        switch state {
        case .serving(let active): return active.buffer.readableBytes >= limits.bufferBytes
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

    private func perform(_ action: UploadServerAction, _ context: ChannelHandlerContext) {
        guard case .serving(let active) = state, let id = active.id else { return }
        switch action {
        case .interim(id, let response): write(response.status, response.fields, context)
        case .receive(id):
            if active.expectsContinue { continueWhenRead(id, active.upload, context) }
            change { active in
                active.expectsContinue = false
                active.isContentRequested = true
            }
            deliver(context)
        case .respond(id, let response): respond(response, context)
        case .close(id): close(context)
        // An action may arrive late, for an earlier request.
        case .interim, .receive, .respond, .close, .store: break
        }
    }

    /// Sends 100 (Continue) once the upload's handler waits for content.
    private func continueWhenRead(_ id: UploadRequestID, _ upload: UploadToken?, _ context: ChannelHandlerContext) {
        guard let upload else { return }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let loop = context.eventLoop
        server.whenRead(upload) {
            loop.execute {
                let (handler, context) = bound.value
                guard case .serving(let active) = handler.state, active.id == id, !active.hasEnded,
                    active.buffer.readableBytes == 0
                else { return }
                handler.change { $0.awaitsContinue = false }
                handler.write(100, [:], context)
                handler.deliver(context)
            }
        }
    }

    private func write(_ status: Int, _ fields: HTTPFields, _ context: ChannelHandlerContext) {
        let head = HTTPResponse(status: .init(code: status), headerFields: fields)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
    }

    /// Sends the final response. Closes the connection afterwards if the client asked for it, or if `thenCloses`.
    private func respond(_ response: UploadResponse, _ context: ChannelHandlerContext, thenCloses: Bool = false) {
        guard case .serving(let active) = state else { return }
        let closesNow = thenCloses || active.endsConnection && active.hasEnded
        endsConnection = active.endsConnection
        state = closesNow ? .closed : active.hasEnded ? .forwarding : .discarding(limits.maximumDiscardedBytes)
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
        throughput.waitBegan(at: context.eventLoop.now)
        setTimer(context)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: end)
        deliverQueue(context)
    }

    private func isHTTP1(_ context: ChannelHandlerContext) -> Bool {
        (try? context.pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)) != nil
    }

    // MARK: - Time

    /// Schedules the next throughput check. An earlier timer stays; it reschedules itself.
    private func setTimer(_ context: ChannelHandlerContext) {
        switch state {
        case .serving, .discarding: break
        case .forwarding, .closed: return cancelTimer()
        }
        guard let deadline = throughput.deadline else { return }
        if let timer, timer.deadline <= deadline { return }
        cancelTimer()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.timeAdvanced(context)
        }
        timer = (deadline, task)
    }

    private func cancelTimer() {
        timer?.task.cancel()
        timer = nil
    }

    private func timeAdvanced(_ context: ChannelHandlerContext) {
        guard throughput.isTooSlow(at: context.eventLoop.now) else { return setTimer(context) }
        switch state {
        case .serving(let active):
            giveUp(active)
            respond(.message(408, "The content arrives too slowly."), context, thenCloses: true)
        case .discarding: close(context)
        case .forwarding, .closed: break
        }
    }

    // MARK: - The end of the connection

    private func close(_ context: ChannelHandlerContext) {
        abandon()
        context.close(promise: nil)
    }

    /// Reports the end of the connection, after the last received content.
    private func abandon() {
        cancelTimer()
        queue.removeAll()
        defer { state = .closed }
        guard case .serving(let active) = state else { return }
        giveUp(active)
    }

    private func giveUp(_ active: ActiveRequest) {
        guard let id = active.id else { return }
        if active.buffer.readableBytes > 0 {
            server.handle(.content(id, Array(active.buffer.readableBytesView)))
        }
        server.handle(.disconnected(id))
    }

    /// The connection closed: the upload can be resumed on another one.
    public func channelInactive(context: ChannelHandlerContext) {
        abandon()
        context.fireChannelInactive()
    }

    /// An invalid request or failed connection ends the current request.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .serving(let active) = state else { return context.fireErrorCaught(error) }
        // The invalid part follows the upload, which still gets its response before the connection closes.
        if active.hasEnded, error is HTTPParserError || error is ByteToMessageDecoderError {
            return change { $0.endsConnection = true }
        }
        close(context)
    }

    /// The handler was removed from the pipeline.
    public func handlerRemoved(context: ChannelHandlerContext) {
        while let limit = unsent.popFirst() { limit.cancel() }
        abandon()
    }
}
