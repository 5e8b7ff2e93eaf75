import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization
import TransferProtocol
import Units

/// The limits that one connection is held to.
struct ResponseLimits: Sendable {
    var firstByte: Duration
    var stall: DownloadStallRule
    /// When the transfer's time is up; `nil` for no limit.
    var deadline: NIODeadline?

    /// The interim responses that may come before the final one: 64.
    static let mostInformational = 64
    /// The longest field line, in bytes.
    static let longestField = 16 << 10
    /// The longest head or trailer section, in bytes.
    static let longestHead = 64 << 10
    /// The most field lines of a head or a trailer section.
    static let mostFields = 128
    /// The most bytes that one read of the socket brings, and so the most of one part of a body.
    static let longestRead = 256 << 10
    /// Reading stops when so many parts wait to be written, 4 MiB and the last burst of reads at most, and starts again
    /// at `fewestParts`.
    static let mostParts = 16
    static let fewestParts = 4
    /// The end of the connection is waited for so long after the end of a response: 100 ms.
    static let lingering = Duration.milliseconds(100)
}

/// Why a connection was given up by its own watch.
struct WatchError: Error {
    var setback: DownloadSetback
}

/// The reason that a watch had, kept for a reader that begins to listen only after it.
final class WatchVerdict: Sendable {
    private let first = Mutex<WatchError?>(nil)

    /// The first reason; `nil` while there is none.
    var error: WatchError? { first.withLock { $0 } }

    func gaveUp(_ error: WatchError) { first.withLock { $0 = $0 ?? error } }
}

/// Counts interim responses, joins the body's parts of one read, and gives a connection up that is too slow.
///
/// Time counts against the server only while a read is wanted: a full disk queue stalls nobody.
final class ResponseWatch: ChannelDuplexHandler {
    typealias InboundIn = HTTPResponsePart
    typealias InboundOut = HTTPResponsePart
    typealias OutboundIn = HTTPRequestPart
    typealias OutboundOut = HTTPRequestPart

    private let limits: ResponseLimits
    private let verdict: WatchVerdict
    private var meter: DownloadStallMeter
    private var firstByteTimer: Scheduled<Void>?
    private var deadlineTimer: Scheduled<Void>?
    private var tickTimer: Scheduled<Void>?
    private var lingeringTimer: Scheduled<Void>?
    private var informational = 0
    private var pending: ByteBuffer?
    private var bytes: Int64 = 0
    private var pauses = PauseMeter()

    init(limits: ResponseLimits, verdict: WatchVerdict) {
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
        firstByteTimer = after(limits.firstByte, context) { $0.giveUp(.firstByteTimedOut, $1) }
        if let deadline = limits.deadline {
            deadlineTimer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
                self.giveUp(.outOfTime, context)
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
            informational += 1
            if informational > ResponseLimits.mostInformational {
                giveUp(.malformedResponse("more than \(ResponseLimits.mostInformational) interim responses"), context)
                return
            }
            context.fireChannelRead(data)
        case .head:
            firstByteTimer?.cancel()
            startTicking(context)
            context.fireChannelRead(data)
        case .body(var buffer):
            bytes += Int64(buffer.readableBytes)
            // Small chunks are joined; what would grow beyond one read goes on its own.
            if (pending?.readableBytes ?? 0) + buffer.readableBytes > ResponseLimits.longestRead { flush(context) }
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

    private func giveUp(_ setback: DownloadSetback, _ context: ChannelHandlerContext) {
        let error = WatchError(setback: setback)
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
        _ body: @escaping (ResponseWatch, ChannelHandlerContext) -> Void
    ) -> Scheduled<Void> {
        context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) {
            body(self, context)
        }
    }
}
