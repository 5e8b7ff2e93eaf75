import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import OperatingSystem
import TransferProtocol
import Units

/// The limits of one connection.
struct AttemptLimits: Sendable {
    /// The time limit from the end of the request to the final response head.
    var response: Duration
    /// Whether an interim response starts `response` anew.
    var isExtended = false
    /// The maximum number of interim responses: 64.
    var interimResponses = 64
    var stall: MinimumThroughput
    /// Whether the connection stays open after the response.
    var isKept = false
    /// When the transfer's deadline passes; `nil` for none.
    var deadline: NIODeadline?

    /// Reading stops at this many queued parts, at most 4 MiB plus the last burst of reads, and resumes at
    /// `minimumParts`.
    static let maximumParts = 16
    static let minimumParts = 4
    /// How long to wait for the connection to close after the end of a response: 100 ms.
    static let lingering = Duration.milliseconds(100)
}

/// Enforces the timeouts of an attempt: response, minimum throughput and deadline. Limits interim responses, and
/// coalesces the body parts of one read.
///
/// Throughput is that of the request's content, and from the final response head on that of the response. Time counts
/// against the server only while content is queued, or while a read is pending: a slow disk isn't a stall.
final class AttemptTimeoutHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPResponsePart
    typealias InboundOut = HTTPResponsePart
    typealias OutboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPRequestPart

    private enum Timer {
        case response, deadline, tick, lingering
    }

    private let limits: AttemptLimits
    /// Why the connection was closed, for a reader that starts later.
    private let firstError: FirstValue<TransientFailure>
    private var meter: StallDetector
    private var timers: [Timer: Scheduled<Void>] = [:]
    private var interimResponses = 0
    private var pending: ByteBuffer?
    /// Bytes read or written since the last tick.
    private var bytes: Int64 = 0
    /// Content bytes queued.
    private var waiting: Int64 = 0
    /// When the local side began to pause the transfer, if it does, and the paused time since the last tick.
    private var pause: (start: NIODeadline?, total: TimeAmount) = (nil, .zero)
    private var isSent = false
    private var hasContent = false
    private var isResponding = false

    init(limits: AttemptLimits, firstError: FirstValue<TransientFailure>) {
        self.limits = limits
        self.firstError = firstError
        meter = StallDetector(rule: limits.stall)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { stopTimers() }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard let deadline = limits.deadline else { return }
        schedule(.deadline, .nanoseconds((deadline - context.eventLoop.now).nanoseconds), context) {
            $0.giveUp(.deadlineExceeded, $1)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let promise = promise ?? context.eventLoop.makePromise()
        switch unwrapOutboundIn(data) {
        case .head: break
        case .body(let buffer):
            let count = Int64(buffer.readableBytes)
            waiting += count
            if !hasContent, count > 0 {
                hasContent = true
                if !isResponding { startTicking(context) }
            }
            if !isResponding { setPaused(waiting == 0, context) }
            promise.futureResult.assumeIsolated().whenSuccess {
                self.waiting -= count
                guard !self.isResponding else { return }
                self.setPaused(self.waiting == 0, context)
                self.bytes += count
            }
        case .end:
            // HTTP/2 queues a request while the server allows no more streams; without content nothing would detect the
            // stall.
            if !hasContent { awaitResponse(context) }
            promise.futureResult.assumeIsolated().whenSuccess {
                self.isSent = true
                if self.hasContent { self.awaitResponse(context) }
            }
        }
        context.write(data, promise: promise)
    }

    func read(context: ChannelHandlerContext) {
        if isResponding { setPaused(false, context) }
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.isInterim:
            interimResponses += 1
            guard interimResponses <= limits.interimResponses else {
                return giveUp(.malformedResponse("more than \(limits.interimResponses) interim responses"), context)
            }
            if isSent, limits.isExtended { awaitResponse(context) }
            context.fireChannelRead(data)
        case .head:
            // The rest of the content isn't sent.
            timers.removeValue(forKey: .response)?.cancel()
            isResponding = true
            meter = StallDetector(rule: limits.stall)
            pause = (nil, .zero)
            bytes = 0
            startTicking(context)
            context.fireChannelRead(data)
        case .body(var buffer):
            bytes += Int64(buffer.readableBytes)
            // Small chunks are coalesced, up to the size of one read.
            if (pending?.readableBytes ?? 0) + buffer.readableBytes > HTTPConnector.maximumReadSize { flush(context) }
            if pending?.writeBuffer(&buffer) == nil { pending = buffer }
        case .end:
            flush(context)
            stopTimers()
            if !limits.isKept { schedule(.lingering, AttemptLimits.lingering, context) { $1.close(promise: nil) } }
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isResponding { setPaused(true, context) }
        flush(context)
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        flush(context)
        stopTimers()
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        flush(context)
        stopTimers()
        context.fireChannelInactive()
    }

    private func flush(_ context: ChannelHandlerContext) {
        guard let part = pending else { return }
        pending = nil
        context.fireChannelRead(wrapInboundOut(.body(part)))
    }

    private func awaitResponse(_ context: ChannelHandlerContext) {
        guard context.channel.isActive, !isResponding else { return }
        schedule(.response, limits.response, context) { $0.giveUp(.firstByteTimedOut, $1) }
    }

    private func startTicking(_ context: ChannelHandlerContext) {
        schedule(.tick, limits.stall.tick, context) { handler, context in
            let isPaused = handler.pause.start != nil
            handler.setPaused(false, context)
            let paused = Duration.nanoseconds(handler.pause.total.nanoseconds)
            let isStalled = handler.meter.tick(bytes: handler.bytes, pausedFor: paused)
            handler.bytes = 0
            handler.pause = (isPaused ? context.eventLoop.now : nil, .zero)
            if isStalled { handler.giveUp(.stalled, context) } else { handler.startTicking(context) }
        }
    }

    /// The local side pauses the transfer, or continues it; idempotent.
    private func setPaused(_ isPaused: Bool, _ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        if isPaused {
            pause.start = pause.start ?? now
        } else if let start = pause.start {
            pause = (nil, pause.total + (now - start))
        }
    }

    private func giveUp(_ cause: TransientFailure, _ context: ChannelHandlerContext) {
        firstError.resolve(cause)
        errorCaught(context: context, error: cause)
    }

    private func stopTimers() {
        for timer in timers.values { timer.cancel() }
        timers = [:]
    }

    private func schedule(
        _ timer: Timer,
        _ delay: Duration,
        _ context: ChannelHandlerContext,
        _ body: @escaping (AttemptTimeoutHandler, ChannelHandlerContext) -> Void
    ) {
        timers[timer]?.cancel()
        timers[timer] = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
            body(self, context)
        }
    }
}
