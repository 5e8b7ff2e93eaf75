#if TLS
    import NIOCore
    import NIOEmbedded
    import NIOSSL
    import NIOTLS
    import ProxyEngine
    import TLSTransport

    /// A session by swift-nio-ssl, in a channel without I/O.
    ///
    /// Everything that is received is decrypted at once, so the caller passes no more than it has room for. The channel is
    /// never closed before `cancel`: closing waits for the peer.
    final class NIOSSLSession: TLSSession {
        private let channel: EmbeddedChannel
        private let home: SessionLoop
        private let recorder = RecordCollector()
        private let receiver = ContentReceiver()
        private let sealer: AlertSealer?

        /// Makes a session of the handler.
        ///
        /// - Parameters:
        ///   - peer: the address that a certificate must be for, where it isn't for a name.
        ///   - sealer: seals an alert.
        init(
            _ handler: NIOSSLHandler,
            on home: SessionLoop,
            peer: SocketAddress? = nil,
            sealer: AlertSealer? = nil
        ) throws {
            (self.home, self.sealer) = (home, sealer)
            channel = EmbeddedChannel(loop: home.loop)
            channel.allowRemoteHalfClosure = true
            // The library asks for one even where it checks a name, for which `NIOSSLClientHandler.verifying` takes no address.
            channel.remoteAddress = try peer ?? SocketAddress(ipAddress: "0.0.0.0", port: 0)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(recorder)
            try pipeline.addHandler(handler)
            try pipeline.addHandler(receiver)
        }

        var state: TLSSessionState { receiver.state }

        var waitingContent: Int { receiver.content.readableBytes }

        func start(_ output: (RawSpan) -> Void) {
            channel.pipeline.fireChannelActive()
            hand(to: output)
        }

        func receive(_ records: RawSpan, _ output: (RawSpan) -> Void) {
            guard case .failed = state else {
                let pipeline = channel.pipeline.syncOperations
                pipeline.fireChannelRead(NIOAny(home.buffer(of: records)))
                pipeline.fireChannelReadComplete()
                return hand(to: output)
            }
        }

        func takeContent(_ limit: Int, _ body: (RawSpan) -> Void) -> Int { receiver.take(limit, body) }

        func send(_ content: RawSpan, _ output: (RawSpan) -> Void) {
            channel.pipeline.syncOperations.writeAndFlush(NIOAny(home.buffer(of: content)), promise: nil)
            hand(to: output)
        }

        func send(alert: UInt8, _ output: (RawSpan) -> Void) {
            guard let record = sealer?.record(of: alert) else { return }
            recorder.isOpen = false
            output(ByteBuffer(bytes: record).readableBytesSpan)
        }

        func endContent(_ output: (RawSpan) -> Void) {
            channel.pipeline.syncOperations.close(mode: .output, promise: nil)
            hand(to: output)
        }

        func cancel() {
            recorder.isOpen = false
            channel.pipeline.fireChannelInactive()
            channel.close(promise: nil)
            // Runs the tasks that the close has scheduled, and the timers that would keep the session alive.
            home.loop.advanceTime(by: .hours(1))
        }

        private func hand(to output: (RawSpan) -> Void) {
            for record in recorder.records {
                sealer?.note(record.readableBytesView, isOpen: state != .handshaking)
                output(record.readableBytesSpan)
            }
            recorder.records.removeAll(keepingCapacity: true)
        }
    }

    /// Takes the records that the library writes, and its wish to close, which waits for `NIOSSLSession.cancel`.
    private final class RecordCollector: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var records: [ByteBuffer] = []
        var isOpen = true

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if isOpen { records.append(unwrapOutboundIn(data)) }
            promise?.succeed()
        }

        func flush(context: ChannelHandlerContext) {}

        func read(context: ChannelHandlerContext) {}

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            if isOpen { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
        }
    }

    /// Takes the content, and how far the session has come.
    private final class ContentReceiver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private(set) var state = TLSSessionState.handshaking
        private(set) var content = ByteBuffer()

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var more = unwrapInboundIn(data)
            // Without a reference to the library's buffer, which is used again.
            if content.readableBytes == 0 { content = more } else { content.writeBuffer(&more) }
        }

        func take(_ limit: Int, _ body: (RawSpan) -> Void) -> Int {
            let count = min(limit, content.readableBytes)
            body(content.readableBytesSpan.extracting(first: count))
            content.moveReaderIndex(forwardBy: count)
            if content.readableBytes == 0 { content = ByteBuffer() }
            return count
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted(let name)? = event as? TLSUserEvent { state = .open(protocol: name) }
            guard case .inputClosed? = event as? ChannelEvent, case .open(let name) = state else { return }
            state = .ended(protocol: name)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if case .failed = state { return }
            state = .failed(TLSSessionFailure(error))
        }
    }
#endif
