import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol
import Units

/// The limits of one connection.
struct ResponseLimits: Sendable {
    var firstByte: Duration
    var stall: MinimumThroughput
    /// When the transfer's deadline passes; `nil` for none.
    var deadline: NIODeadline?

    /// The maximum number of interim responses: 64.
    static let maximumInterimResponses = 64
    /// The maximum size of a field line, in bytes.
    static let maximumFieldSize = 16 << 10
    /// The maximum size of a header or trailer section, in bytes.
    static let maximumHeadSize = 64 << 10
    /// The maximum number of field lines in a header or trailer section.
    static let maximumFields = 128
    /// The maximum size of one socket read, and so of one body part.
    static let maximumReadSize = 256 << 10
    /// Reading stops at this many queued parts, at most 4 MiB plus the last burst of reads, and resumes at
    /// `minimumParts`.
    static let maximumParts = 16
    static let minimumParts = 4
    /// How long to wait for the connection to close after the end of a response: 100 ms.
    static let lingering = Duration.milliseconds(100)
}

/// Why the timeout handler closed a connection.
struct AttemptError: Error {
    var cause: TransientDownloadFailure
}

/// Holds the handler's error for a reader that starts later.
final class AttemptErrorBox: Sendable {
    private let first = Mutex<AttemptError?>(nil)

    /// The first error, if any.
    var error: AttemptError? { first.withLock { $0 } }

    func gaveUp(_ error: AttemptError) { first.withLock { $0 = $0 ?? error } }
}

/// Enforces the timeouts of a response, limits interim responses, and coalesces the body parts of one read.
///
/// Time counts against the server only while a read is pending: local backpressure isn't a stall.
final class ResponseTimeoutHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPResponsePart
    typealias InboundOut = HTTPResponsePart
    typealias OutboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPRequestPart

    private let limits: ResponseLimits
    private let verdict: AttemptErrorBox
    private var meter: StallDetector
    private var firstByteTimer: Scheduled<Void>?
    private var deadlineTimer: Scheduled<Void>?
    private var tickTimer: Scheduled<Void>?
    private var lingeringTimer: Scheduled<Void>?
    private var interimResponses = 0
    private var pending: ByteBuffer?
    private var bytes: Int64 = 0
    private var pauses = PauseMeter()

    init(limits: ResponseLimits, verdict: AttemptErrorBox) {
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
        firstByteTimer = after(limits.firstByte, context) { $0.giveUp(.firstByteTimedOut, $1) }
        if let deadline = limits.deadline {
            deadlineTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
                self.giveUp(.deadlineExceeded, context)
            }
        }
    }

    func read(context: ChannelHandlerContext) {
        pauses.resume()
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head) where head.status.isInterim:
            interimResponses += 1
            if interimResponses > ResponseLimits.maximumInterimResponses {
                giveUp(
                    .malformedResponse("more than \(ResponseLimits.maximumInterimResponses) interim responses"),
                    context
                )
                return
            }
            context.fireChannelRead(data)
        case .head:
            firstByteTimer?.cancel()
            startTicking(context)
            context.fireChannelRead(data)
        case .body(var buffer):
            bytes += Int64(buffer.readableBytes)
            // Small chunks are coalesced, up to the size of one read.
            if (pending?.readableBytes ?? 0) + buffer.readableBytes > ResponseLimits.maximumReadSize { flush(context) }
            if pending?.writeBuffer(&buffer) == nil { pending = buffer }
        case .end:
            flush(context)
            stopTimers()
            lingeringTimer = after(ResponseLimits.lingering, context) { $1.close(promise: nil) }
            context.fireChannelRead(data)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        pauses.pause()
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

    private func startTicking(_ context: ChannelHandlerContext) {
        tickTimer = after(limits.stall.tick, context) { watch, context in
            let isStalled = watch.meter.tick(bytes: watch.bytes, pausedFor: watch.pauses.takeTotal())
            watch.bytes = 0
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
        firstByteTimer?.cancel()
        deadlineTimer?.cancel()
        tickTimer?.cancel()
        lingeringTimer?.cancel()
    }

    private func after(
        _ delay: Duration,
        _ context: ChannelHandlerContext,
        _ body: @escaping (ResponseTimeoutHandler, ChannelHandlerContext) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
            body(self, context)
        }
    }
}
