import HTTPTypes
import NIOCore
import NIOHTTPTypes
import TransferProtocol
import Units

/// The limits that one exchange of an upload is held to.
struct UploadWatchLimits: Sendable {
    /// The time from the last byte of the request, or from an informational response, to the next head. A request without content
    /// has no more time to be sent and answered.
    var response: Duration
    /// The least rate at which the connection must take the content.
    var stall: DownloadStallRule
    /// When the upload's time is up; `nil` for no limit.
    var deadline: NIODeadline?

    /// The most informational responses to one request.
    static let mostInformational = 10_000
}

/// Passes all heads on, and gives a connection up that is too slow: one that takes no content, or doesn't answer.
///
/// Time counts against the server only while content waits to be taken: a slow disk stalls no upload.
final class UploadWatch: ChannelDuplexHandler {
    typealias InboundIn = HTTPResponsePart
    typealias InboundOut = HTTPResponsePart
    typealias OutboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPRequestPart

    private let limits: UploadWatchLimits
    private let verdict: WatchVerdict
    private var meter: DownloadStallMeter
    private var responseTimer: Scheduled<Void>?
    private var deadlineTimer: Scheduled<Void>?
    private var tickTimer: Scheduled<Void>?
    private var informational = 0
    /// The bytes that were taken since the last tick, and those that wait.
    private var taken: Int64 = 0
    private var waiting: Int64 = 0
    private var pauses = PauseMeter()
    private var isSent = false
    private var hasContent = false

    init(limits: UploadWatchLimits, verdict: WatchVerdict) {
        self.limits = limits
        self.verdict = verdict
        meter = DownloadStallMeter(rule: limits.stall)
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
                self.giveUp(.outOfTime, context)
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
            // HTTP/2 keeps a request back while the server takes no more streams, and then no content waits that could stall.
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
                informational += 1
                guard informational <= UploadWatchLimits.mostInformational else {
                    let words = "more than \(UploadWatchLimits.mostInformational) interim responses"
                    return giveUp(.malformedResponse(words), context)
                }
                if isSent { awaitResponse(context) }
            } else {
                // The rest of the content isn't sent; the content of the response has the same time.
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

    private func giveUp(_ setback: DownloadSetback, _ context: ChannelHandlerContext) {
        let error = WatchError(setback: setback)
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
        _ body: @escaping (UploadWatch, ChannelHandlerContext) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
            body(self, context)
        }
    }
}
