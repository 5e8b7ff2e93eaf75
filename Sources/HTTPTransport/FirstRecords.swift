#if TLS
    import NIOCore

    /// Divides the first bytes that a connection sends into small records (RFC 8446, section 5.1).
    ///
    /// A record that doesn't arrive whole is lost, and one may have 16 KiB: through a network that cuts connections early nothing
    /// would ever pass. The bytes that follow are sent in records as large as they may be, which cost less.
    final class FirstRecords: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        /// The bytes of a small record: 4 KiB.
        static let size = 4 << 10
        /// The bytes that are sent in small records: 64 KiB.
        static let count = 64 << 10

        private var left = FirstRecords.count

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard left > 0 else { return context.write(data, promise: promise) }
            var buffer = unwrapOutboundIn(data)
            while left > 0, buffer.readableBytes > FirstRecords.size,
                let record = buffer.readSlice(length: FirstRecords.size)
            {
                left -= FirstRecords.size
                context.write(wrapOutboundOut(record), promise: nil)
            }
            left -= min(left, buffer.readableBytes)
            context.write(wrapOutboundOut(buffer), promise: promise)
        }
    }
#endif
