import NIOCore
import NIOHTTP1

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

/// What an answer is asked for.
enum Question: Sendable {
    /// A request that was read.
    case request(RequestHead)
    /// One that couldn't be read.
    case rejected(RequestCycle.Rejection)
}

/// Carries out what a `RequestCycle` says for one connection.
///
/// It stands behind a `HTTPServerPipelineHandler`, so it sees one request at a time, and while that is answered nothing
/// is read from the socket.
final class RequestHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// Sends the answer to a question, with `Connection: close` if told so. Its end is written once the system has
    /// taken all the rest of it, so that nobody's answers pile up. `false` when it can't be finished; the end isn't
    /// written then.
    typealias Answer = @Sendable (Question, _ thenClose: Bool, any Channel) async -> Bool

    private let limits: OriginLimits
    private let answer: Answer
    private let progress: RequestProgress
    private var cycle: RequestCycle
    private var head: RequestHead?
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
        cycle = RequestCycle(limits: limits, isRefused: isRefused, now: now)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        perform(.nothing, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.task.cancel()
        timer = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let received):
            let head = RequestHead(received, drainedBytes: limits.drainedBytes)
            self.head = head
            let action = cycle.headArrived(
                keepsAlive: head.keepsAlive,
                isAnsweredEarly: head.isAnsweredEarly
            )
            perform(action, context)
        case .body(let content):
            perform(cycle.contentArrived(content.readableBytes), context)
        case .end:
            perform(cycle.requestEnded(), context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ByteArrivalHandler.Event {
            cycle.bytesArrived(at: context.eventLoop.now)
            perform(.nothing, context)
        } else if let event = event as? UploadHandler.Delegation {
            switch event {
            case .taken: cycle.requestTaken()
            case .endsConnection: cycle.answerEndsConnection()
            }
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            perform(cycle.inputEnded(), context)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // What comes behind a request that isn't one is thrown away, while that is answered.
        if case .dataReceivedInErrorState? = error as? ByteToMessageDecoderError { return }
        // When the socket failed or has closed in the middle of a request, there is nobody to answer.
        guard let error = error as? HTTPParserError, context.channel.isActive else {
            perform(cycle.answerFailed(), context)
            return
        }
        // A request line that was rejected is the last thing that was read, so the error can be no other's.
        let rejection = progress.rejection ?? (error == .headerOverflow ? .headTooLarge : .malformed)
        perform(cycle.requestRejected(rejection), context)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // A head can get stuck as well as content: it counts as a byte.
        let count: Int
        switch unwrapOutboundIn(data) {
        case .head:
            count = 1
        case .body(let content):
            count = max(1, content.readableBytes)
        case .end:
            // The next request, if it is here already, comes back from within this write.
            let action = cycle.answerEnded(at: context.eventLoop.now)
            context.write(data, promise: promise)
            perform(action, context)
            return
        }
        let promise = promise ?? context.eventLoop.makePromise()
        promise.futureResult.assumeIsolated().whenComplete { _ in
            self.cycle.bytesSent(count, at: context.eventLoop.now)
        }
        cycle.bytesWritten(count, at: context.eventLoop.now)
        context.write(data, promise: promise)
        perform(.nothing, context)
    }

    private func perform(_ action: RequestCycle.Action, _ context: ChannelHandlerContext) {
        switch action {
        case .nothing:
            break
        case .answer(let thenClose):
            guard let head else { preconditionFailure("A request is answered after its head has arrived") }
            start(.request(head), thenClose: thenClose, context)
        case .reject(let rejection):
            start(.rejected(rejection), thenClose: true, context)
        case .closeOutput:
            context.close(mode: .output, promise: nil)
        case .close:
            context.close(promise: nil)
        }
        setTimer(context)
    }

    private func start(_ question: Question, thenClose: Bool, _ context: ChannelHandlerContext) {
        let channel = context.channel
        let answer = self.answer
        context.eventLoop.makeFutureWithTask { await answer(question, thenClose, channel) }
            .assumeIsolated()
            .whenSuccess { wasComplete in
                if !wasComplete { self.perform(self.cycle.answerFailed(), context) }
            }
    }

    /// Has the cycle told when its deadline has come. A timer that is too early stays: it then finds the later one.
    private func setTimer(_ context: ChannelHandlerContext) {
        guard let deadline = cycle.deadline else { return }
        if let timer, timer.deadline <= deadline { return }
        timer?.task.cancel()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
            self.timer = nil
            self.perform(self.cycle.timeAdvanced(to: context.eventLoop.now), context)
        }
        timer = (deadline, task)
    }
}
