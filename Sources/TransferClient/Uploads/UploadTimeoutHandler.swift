import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

/// The limits of one upload attempt.
struct UploadTimeoutLimits: Sendable {
    /// The time limit from the last request byte, or from an interim response, to the next head. A request without
    /// content must be sent and answered within it.
    var response: Duration
    /// The minimum throughput of the content.
    var stall: MinimumThroughput
    /// When the upload's deadline passes; `nil` for none.
    var deadline: NIODeadline?

    /// The maximum number of interim responses to one request.
    static let maximumInterimResponses = 10_000
}

/// Enforces the timeouts of an upload attempt: minimum throughput, response timeout and deadline. Passes all heads on.
///
/// Time counts against the server only while content is queued: a slow disk isn't a stall.
final class UploadTimeoutHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPResponsePart
    typealias InboundOut = HTTPResponsePart
    typealias OutboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPRequestPart

    private let limits: UploadTimeoutLimits
    private let verdict: AttemptErrorBox
    private var meter: StallDetector
    private var responseTimer: Scheduled<Void>?
    private var deadlineTimer: Scheduled<Void>?
    private var tickTimer: Scheduled<Void>?
    private var interimResponses = 0
    /// Bytes written since the last sample, and bytes queued.
    private var taken: Int64 = 0
    private var waiting: Int64 = 0
    private var pauses = PauseMeter()
    private var isSent = false
    private var hasContent = false

    init(limits: UploadTimeoutLimits, verdict: AttemptErrorBox) {
        self.limits = limits
        self.verdict = verdict
        meter = StallDetector(rule: limits.stall)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        if let deadline = limits.deadline {
            deadlineTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
                self.giveUp(.deadlineExceeded, context)
            }
        }
        pauses.pause()
        startTicking(context)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let promise = promise ?? context.eventLoop.makePromise()
        switch unwrapOutboundIn(data) {
        case .head: break
        case .body(let buffer):
            let count = Int64(buffer.readableBytes)
            waiting += count
            if waiting > 0 { pauses.resume() }
            hasContent = hasContent || count > 0
            promise.futureResult.assumeIsolated().whenSuccess {
                self.waiting -= count
                if self.waiting == 0 { self.pauses.pause() }
                self.taken += count
            }
        case .end:
            // HTTP/2 queues a request while the server allows no more streams; without content nothing would detect the
            // stall.
            if !hasContent { awaitResponse(context) }
            promise.futureResult.assumeIsolated().whenSuccess {
                self.isSent = true
                self.awaitResponse(context)
            }
        }
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            if head.status.kind == .informational, head.status.code != 101 {
                interimResponses += 1
                guard interimResponses <= UploadTimeoutLimits.maximumInterimResponses else {
                    let reason = "more than \(UploadTimeoutLimits.maximumInterimResponses) interim responses"
                    return giveUp(.malformedResponse(reason), context)
                }
                if isSent { awaitResponse(context) }
            } else {
                // The rest of the content isn't sent; the response content gets the same time limit.
                tickTimer?.cancel()
                awaitResponse(context)
            }
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        stopTimers()
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        stopTimers()
        context.fireChannelInactive()
    }

    private func awaitResponse(_ context: ChannelHandlerContext) {
        guard context.channel.isActive else { return }
        responseTimer?.cancel()
        responseTimer = after(limits.response, context) { $0.giveUp(.firstByteTimedOut, $1) }
    }

    private func startTicking(_ context: ChannelHandlerContext) {
        tickTimer = after(limits.stall.tick, context) { watch, context in
            let isStalled = watch.meter.tick(bytes: watch.taken, pausedFor: watch.pauses.takeTotal())
            watch.taken = 0
            if isStalled {
                watch.giveUp(.stalled, context)
            } else {
                watch.startTicking(context)
            }
        }
    }

    private func giveUp(_ cause: TransientDownloadFailure, _ context: ChannelHandlerContext) {
        let error = AttemptError(cause: cause)
        verdict.gaveUp(error)
        errorCaught(context: context, error: error)
    }

    private func stopTimers() {
        responseTimer?.cancel()
        deadlineTimer?.cancel()
        tickTimer?.cancel()
    }

    private func after(
        _ delay: Duration,
        _ context: ChannelHandlerContext,
        _ body: @escaping (UploadTimeoutHandler, ChannelHandlerContext) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
            body(self, context)
        }
    }
}
