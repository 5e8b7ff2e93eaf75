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

        private var remaining = DynamicRecordSizing.count

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            guard remaining > 0 else { return context.write(data, promise: promise) }
            var buffer = unwrapOutboundIn(data)
            while remaining > 0, buffer.readableBytes > DynamicRecordSizing.size,
                let record = buffer.readSlice(length: DynamicRecordSizing.size)
            {
                remaining -= DynamicRecordSizing.size
                context.write(wrapOutboundOut(record), promise: nil)
            }
            remaining -= min(remaining, buffer.readableBytes)
            context.write(wrapOutboundOut(buffer), promise: promise)
        }
    }
#endif
