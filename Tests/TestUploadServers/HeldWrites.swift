import NIOCore
import NIOHTTPTypes

/// Keeps everything that is written, as a connection does whose client doesn't read.
package final class HeldWrites: ChannelOutboundHandler {
    package typealias OutboundIn = HTTPResponsePart
    private let failsAtClose: Bool
    private var held: [EventLoopPromise<Void>] = []
    package private(set) var reads = 0

    /// - Parameter failsAtClose: Whether what is held fails at the close, instead of being accepted.
    package init(failsAtClose: Bool) { self.failsAtClose = failsAtClose }

    package func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if let promise { held.append(promise) }
    }

    package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        end { failsAtClose ? $0.fail(ChannelError.ioOnClosedChannel) : $0.succeed() }
        context.close(mode: mode, promise: promise)
    }

    /// Accepts everything that is held.
    package func release() { end { $0.succeed() } }

    private func end(_ end: (EventLoopPromise<Void>) -> Void) {
        let ended = held
        held = []
        ended.forEach(end)
    }
}
