#if TLS
    import NIOCore
    import NIOHTTP2

    /// Copies the payloads of short DATA frames to buffers of their size, between a connection and its streams.
    ///
    /// The frames of a read share a buffer, which is as large as the largest read of the connection so far, and frames that
    /// wait in a stream retain it. A window full of short frames would retain hundreds of times its bytes.
    final class DataFrameCopier: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTP2Frame
        typealias InboundOut = HTTP2Frame

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var frame = unwrapInboundIn(data)
            guard case .data(var content) = frame.payload, case .byteBuffer(let bytes) = content.data,
                bytes.storageCapacity / 2 > bytes.readableBytes
            else { return context.fireChannelRead(data) }
            var copy = context.channel.allocator.buffer(capacity: bytes.readableBytes)
            copy.writeImmutableBuffer(bytes)
            content.data = .byteBuffer(copy)
            frame.payload = .data(content)
            context.fireChannelRead(wrapInboundOut(frame))
        }
    }
#endif
