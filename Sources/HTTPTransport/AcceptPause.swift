import NIOCore

/// Pauses accepting while a server has no room for connections, and after accept(2) failed because descriptors or memory
/// ran out. Added as the first handler of a listening channel.
///
/// The connections keep waiting in the kernel's queue, which would report them again at once.
public final class AcceptPause: ChannelDuplexHandler, Sendable {
    /// Accepted connections.
    public typealias InboundIn = any Channel
    /// Nothing is written to a listening channel.
    public typealias OutboundIn = Never

    /// The pause: 100 ms, as of proxies.
    private static let pause = TimeAmount.milliseconds(100)
    /// EMFILE, ENFILE, ENOBUFS and ENOMEM of Linux, after which the listening socket stays as it is.
    private static let shortages: Set<CInt> = [24, 23, 105, 12]

    private let hasRoom: @Sendable () -> Bool
    private let report: @Sendable (CInt?) -> Void

    /// Makes a handler.
    ///
    /// - Parameters:
    ///   - hasRoom: Whether another connection may be accepted. A few more may be, since a listener accepts several at once.
    ///   - report: Called with the errno of each failure; with `nil` for each pause without room.
    public init(
        hasRoom: @escaping @Sendable () -> Bool = { true },
        report: @escaping @Sendable (CInt?) -> Void
    ) {
        self.hasRoom = hasRoom
        self.report = report
    }

    /// Delays reading, which accepts connections, until there is room.
    public func read(context: ChannelHandlerContext) {
        guard !hasRoom() else { return context.read() }
        report(nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: AcceptPause.pause) { self.read(context: context) }
    }

    /// Pauses after a shortage; passes other errors on.
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, AcceptPause.shortages.contains(error.errnoCode) else {
            return context.fireErrorCaught(error)
        }
        report(error.errnoCode)
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenSuccess {
            channel.eventLoop.scheduleTask(in: AcceptPause.pause) { channel.setOption(.autoRead, value: true) }
        }
    }
}
