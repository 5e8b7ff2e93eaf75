import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import ResumableUploads

/// Fires an event for arriving bytes before they are decoded.
final class ByteArrivalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Undecoded bytes arrived.
    struct Event: Hashable, Sendable {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireUserInboundEventTriggered(Event())
        context.fireChannelRead(data)
    }
}

/// A request to respond to.
enum InboundRequest: Sendable {
    /// A parsed request.
    case request(RequestHead)
    /// A request that couldn't be parsed.
    case rejected(ConnectionStateMachine.Rejection)
}

/// Executes the actions of a `ConnectionStateMachine` for one HTTP/1 connection or HTTP/2 stream.
///
/// It handles one request at a time: with HTTP/1 a `HTTPServerPipelineHandler` stops reading during a response. The
/// responding task is cancelled when the client disconnects.
final class RequestHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Sends the response to a request. The end is written once the system has taken the rest, so that responses don't
    /// pile up. Returns `false` when the response can't be completed; then the end isn't written.
    typealias Respond = @Sendable (InboundRequest, any Channel) async -> Bool

    private let limits: OriginLimits
    private let respond: Respond
    private let progress: RequestProgress
    private var state: ConnectionStateMachine
    private var head: RequestHead?
    private var responseTask: Task<Void, Never>?
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?

    /// Makes the handler of a connection that starts `now`. `progress` is shared with the handlers around the decoder.
    init(
        limits: OriginLimits,
        isRefused: Bool = false,
        now: NIODeadline,
        progress: RequestProgress = RequestProgress(),
        respond: @escaping Respond
    ) {
        self.limits = limits
        self.respond = respond
        self.progress = progress
        state = ConnectionStateMachine(limits: limits, isRefused: isRefused, now: now)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        perform(.nothing, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.task.cancel()
        timer = nil
        responseTask?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        responseTask?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let received):
            let head = RequestHead(received, progress.traits ?? RequestTraits(received), limits: limits)
            self.head = head
            let action = state.headArrived(
                keepsAlive: head.keepsAlive,
                isRespondedEarly: head.isRespondedEarly,
                at: context.eventLoop.now
            )
            perform(action, context)
        case .body(let content):
            perform(state.contentArrived(content.readableBytes, at: context.eventLoop.now), context)
        case .end:
            perform(state.requestEnded(at: context.eventLoop.now), context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ByteArrivalHandler.Event {
            state.bytesArrived(at: context.eventLoop.now)
            perform(.nothing, context)
        } else if let event = event as? UploadHandlerEvent {
            switch event {
            case .delegated: state.requestDelegated()
            case .received: _ = state.requestEnded(at: context.eventLoop.now)
            case .endsConnection: state.closeAfterResponse()
            }
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            perform(state.inputEnded(), context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Bytes after an invalid request are discarded while the error response is sent.
        if case .dataReceivedInErrorState? = error as? ByteToMessageDecoderError { return }
        // If the socket failed or closed in the middle of a request, no response is possible.
        guard let error = error as? HTTPParserError, context.channel.isActive else {
            perform(state.responseFailed(), context)
            return
        }
        // Nothing is read after a rejected request line, so the error belongs to it.
        let rejection = progress.rejection ?? (error == .headerOverflow ? .headTooLarge : .malformed)
        perform(state.requestRejected(rejection), context)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // A head may be stuck in the send buffer too: it counts as a byte.
        let count: Int
        switch unwrapOutboundIn(data) {
        case .head(let head):
            if head.status.kind != .informational { progress.endsConnection = state.endsConnection }
            count = 1
        case .body(let content):
            count = max(1, content.readableBytes)
        case .end where state.endsConnection:
            writeLastEnd(data, promise, context)
            return
        case .end:
            // A queued next request is delivered from within this write.
            let action = state.responseEnded(at: context.eventLoop.now)
            context.write(data, promise: promise)
            perform(action, context)
            return
        }
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.state.bytesSent(count, at: context.eventLoop.now)
        }
        state.bytesWritten(count, at: context.eventLoop.now)
        context.write(data, promise: promise)
        perform(.nothing, context)
    }

    /// Writes the end of the last response, and closes the connection once the system has taken all of it: closing
    /// drops unflushed bytes.
    private func writeLastEnd(_ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        // A queued next request is delivered from within this write.
        progress.isOver = true
        state.bytesWritten(1, at: context.eventLoop.now)
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated().whenComplete { result in
            let now = context.eventLoop.now
            self.state.bytesSent(1, at: now)
            guard case .success = result, context.channel.isActive else {
                return self.perform(self.state.responseFailed(), context)
            }
            self.perform(self.state.responseEnded(at: now), context)
        }
        context.writeAndFlush(data, promise: promise)
        setTimer(context)
    }

    private func perform(_ action: ConnectionStateMachine.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .nothing:
            break
        case .respond:
            guard let head else { preconditionFailure("A request is answered after its head has arrived") }
            start(.request(head), context)
        case .reject(let rejection):
            start(.rejected(rejection), context)
        case .closeOutput:
            context.close(mode: .output, promise: nil)
        case .close:
            context.close(promise: nil)
        }
        setTimer(context)
    }

    private func start(_ request: InboundRequest, _ context: ChannelHandlerContext) {
        let channel = context.channel
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let eventLoop = context.eventLoop
        responseTask = Task { [respond] in
            guard await !respond(request, channel) else { return }
            eventLoop.execute {
                let (handler, context) = bound.value
                handler.perform(handler.state.responseFailed(), context)
            }
        }
    }

    /// Schedules the next deadline. An earlier timer stays; it reschedules itself.
    private func setTimer(_ context: ChannelHandlerContext) {
        guard let deadline = state.deadline else { return }
        if let timer, timer.deadline <= deadline { return }
        timer?.task.cancel()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.perform(self.state.timeAdvanced(to: context.eventLoop.now), context)
        }
        timer = (deadline, task)
    }
}
