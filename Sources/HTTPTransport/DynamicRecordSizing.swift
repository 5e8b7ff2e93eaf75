#if TLS
    import NIOCore

    /// Splits the first bytes of a connection into small TLS records (RFC 8446, section 5.1).
    ///
    /// A partially received record is useless, and one may have 16 KiB: nothing would ever pass a network that cuts
    /// connections early. Later bytes use full-size records, which cost less.
    final class DynamicRecordSizing: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        /// The size of a small record: 4 KiB.
        static let size = 4 << 10
        /// The number of bytes that are sent in small records: 64 KiB.
        static let count = 64 << 10

        private var left = DynamicRecordSizing.count

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard left > 0 else { return context.write(data, promise: promise) }
            var buffer = unwrapOutboundIn(data)
            while left > 0, buffer.readableBytes > DynamicRecordSizing.size,
                let record = buffer.readSlice(length: DynamicRecordSizing.size)
            {
                left -= DynamicRecordSizing.size
                context.write(wrapOutboundOut(record), promise: nil)
            }
            left -= min(left, buffer.readableBytes)
            context.write(wrapOutboundOut(buffer), promise: promise)
        }
    }
#endif
