import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// Tells the handlers behind it that bytes have arrived, before anybody knows what they are.
final class ByteArrivalHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Bytes have arrived.
    struct Event: Hashable, Sendable {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireUserInboundEventTriggered(Event())
        context.fireChannelRead(data)
    }
}

/// A request to answer.
enum InboundRequest: Sendable {
    /// One that was read.
    case request(RequestHead)
    /// One that couldn't be read.
    case rejected(ConnectionStateMachine.Rejection)
}

/// Carries out the actions of a `ConnectionStateMachine`, for one connection of HTTP/1 or one stream of HTTP/2.
///
/// It sees one request at a time: a `HTTPServerPipelineHandler` in the pipeline of HTTP/1 reads nothing more from the socket while a
/// complete request is answered. A task that answers is cancelled when its client has gone.
final class RequestHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// Sends the answer to a request. Its end is written once the system has taken all the rest of it, so that nobody's
    /// answers pile up. `false` when it can't be finished; the end isn't written then.
    typealias Answer = @Sendable (InboundRequest, any Channel) async -> Bool

    private let limits: OriginLimits
    private let answer: Answer
    private let progress: RequestProgress
    private var state: ConnectionStateMachine
    private var head: RequestHead?
    private var answerTask: Task<Void, Never>?
    private var timer: (deadline: NIODeadline, task: Scheduled<Void>)?

    /// Makes the handler of a connection that starts `now`. `progress` is the one of the handlers around the decoder.
    init(
        limits: OriginLimits,
        isRefused: Bool = false,
        now: NIODeadline,
        progress: RequestProgress = RequestProgress(),
        answer: @escaping Answer
    ) {
        self.limits = limits
        self.answer = answer
        self.progress = progress
        state = ConnectionStateMachine(limits: limits, isRefused: isRefused, now: now)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        perform(.nothing, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.task.cancel()
        timer = nil
        answerTask?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        answerTask?.cancel()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let received):
            let head = RequestHead(received, progress.traits ?? RequestTraits(received), limits: limits)
            self.head = head
            let action = state.headArrived(
                keepsAlive: head.keepsAlive,
                isAnsweredEarly: head.isAnsweredEarly,
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
        } else if let event = event as? UploadHandler.Delegation {
            switch event {
            case .taken: state.requestTaken()
            case .received: _ = state.requestEnded(at: context.eventLoop.now)
            case .endsConnection: state.answerEndsConnection()
            }
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            perform(state.inputEnded(), context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What comes behind a request that isn't one is thrown away, while that is answered.
        if case .dataReceivedInErrorState? = error as? ByteToMessageDecoderError { return }
        // When the socket failed or has closed in the middle of a request, there is nobody to answer.
        guard let error = error as? HTTPParserError, context.channel.isActive else {
            perform(state.answerFailed(), context)
            return
        }
        // A request line that was rejected is the last thing that was read, so the error can be no other's.
        let rejection = progress.rejection ?? (error == .headerOverflow ? .headTooLarge : .malformed)
        perform(state.requestRejected(rejection), context)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // A head can get stuck as well as content: it counts as a byte.
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
            // The next request, if it is here already, comes back from within this write.
            let action = state.answerEnded(at: context.eventLoop.now)
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

    /// Writes the end of the connection's last response, and ends the connection once the system has all of it: closing
    /// drops what wasn't flushed.
    private func writeLastEnd(_ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        // The next request, if it is here already, comes from within this write.
        progress.isOver = true
        state.bytesWritten(1, at: context.eventLoop.now)
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated().whenComplete { result in
            let now = context.eventLoop.now
            self.state.bytesSent(1, at: now)
            guard case .success = result, context.channel.isActive else {
                return self.perform(self.state.answerFailed(), context)
            }
            self.perform(self.state.answerEnded(at: now), context)
        }
        context.writeAndFlush(data, promise: promise)
        setTimer(context)
    }

    private func perform(_ action: ConnectionStateMachine.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .nothing:
            break
        case .answer:
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
        answerTask = Task { [answer] in
            guard await !answer(request, channel) else { return }
            eventLoop.execute {
                let (handler, context) = bound.value
                handler.perform(handler.state.answerFailed(), context)
            }
        }
    }

    /// Has the state machine told when its deadline has come. A timer that is too early stays: it then finds the later one.
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
