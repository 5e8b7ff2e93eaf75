#if Control
    import NIOCore

    /// Pauses accepting after accept(2) failed because descriptors or memory ran out.
    ///
    /// The connections keep waiting in the kernel's queue, which would report them again at once.
    final class AcceptPause: ChannelInboundHandler, Sendable {
        typealias InboundIn = any Channel

        /// The pause: 100 ms, as of proxies.
        private static let pause = TimeAmount.milliseconds(100)
        /// EMFILE, ENFILE, ENOBUFS and ENOMEM of Linux, after which the listening socket stays as it is.
        private static let shortages: Set<CInt> = [24, 23, 105, 12]

        private let report: @Sendable (CInt) -> Void

        /// A handler that calls `report` with the errno of each failure.
        init(report: @escaping @Sendable (CInt) -> Void) { self.report = report }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
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
#endif
