import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import NIOPosix

/// Makes connections for requests: resolves names, connects directly or through a proxy, performs the TLS handshake and
/// adds the handlers of the negotiated protocol.
public struct HTTPConnector: Sendable {
    /// The maximum size of one read from the socket, in bytes, and so of one body part: 256 KiB.
    public static let maximumReadSize = 256 << 10

    private let group: any EventLoopGroup
    private let tls: (any ClientTLS)?
    private let timeout: TimeAmount
    private let readLength: Int?
    private let requirement: ProtocolFallback

    /// Makes a connector.
    ///
    /// - Parameters:
    ///   - tls: The client side of TLS; `nil` if there is none, and `https` fails.
    ///   - timeout: The time limit of a connection attempt, including name resolution, proxy tunnel and TLS handshake.
    ///   - readLength: The size of each read when the response is rate-limited: little is buffered, and the server sees an
    ///     even flow. TLS reads at least one record, and HTTP/2 has a window instead. `nil` for adaptive reads.
    ///   - requirement: Whether connections must use HTTP/1.1.
    public init(
        group: any EventLoopGroup,
        tls: (any ClientTLS)?,
        timeout: TimeAmount,
        readLength: Int?,
        requirement: ProtocolFallback = ProtocolFallback()
    ) {
        self.requirement = requirement
        self.group = group
        self.tls = tls
        self.timeout = timeout
        self.readLength = readLength
    }

    /// Connects to a server, by a name or an address without brackets, and adds the handlers from `makeHandlers` at the end of the request's channel. Nothing
    /// of a response is read before a handler calls `read`. Cancellation doesn't wait for the timeout.
    ///
    /// - Throws: a `TLSFailure`, an `HTTPProxyFailure`, an error of NIO, a `TLSSettingsProblem`, or
    ///   `CancellationError`.
    public func connect(
        to host: String,
        port: Int,
        isSecure: Bool,
        through proxy: HTTPProxy? = nil,
        keeps: Bool = false,
        _ makeHandlers: @escaping @Sendable () -> [any ChannelHandler]
    ) async throws -> HTTPConnection {
        let deadline = NIODeadline.now() + timeout
        let connecting = ClientBootstrap(group: group)
            .connectTimeout(timeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.recvAllocator, value: receiveAllocator(isSecure: isSecure))
            .channelOption(.maxMessagesPerRead, value: readsPerEvent)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if !isSecure { try configureHTTP1(on: channel, makeHandlers()) }
                }
            }
            .connect(host: proxy?.host ?? host, port: proxy?.port ?? port)
            .flatMap { channel -> EventLoopFuture<HTTPConnection> in
                guard isSecure else {
                    let connection = HTTPConnection(channel: channel, negotiated: .http1, forwardingProxy: proxy)
                    return channel.eventLoop.makeSucceededFuture(connection)
                }
                return secure(channel, host, port, through: proxy, until: deadline, keeps, makeHandlers)
            }
        let promise = connecting.eventLoop.makePromise(of: HTTPConnection.self)
        connecting.cascade(to: promise)
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(CancellationError())
            connecting.whenSuccess { $0.socket.close(promise: nil) }
        }
    }

    /// Opens a tunnel if there is a proxy and performs the TLS handshake on a connected channel. Closes the channel on
    /// failure.
    func secure(
        _ channel: any Channel,
        _ host: String,
        _ port: Int,
        through proxy: HTTPProxy?,
        until deadline: NIODeadline,
        _ keeps: Bool,
        _ makeHandlers: @escaping @Sendable () -> [any ChannelHandler]
    ) -> EventLoopFuture<HTTPConnection> {
        channel.eventLoop.flatSubmit {
            let timer = channel.eventLoop.scheduleTask(deadline: deadline) {
                // The handshake fails when the channel closes; this reports a connect timeout instead.
                channel.pipeline.fireErrorCaught(ChannelError.connectTimeout(.zero))
            }
            let tunnel: EventLoopFuture<Void>
            if let proxy {
                let authority = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
                tunnel = ProxyTunnel.open(to: authority, through: proxy, on: channel)
            } else {
                tunnel = channel.eventLoop.makeSucceededVoidFuture()
            }
            let negotiated: EventLoopFuture<HTTPConnection> = tunnel.flatMapThrowing {
                guard let tls else { throw TLSFailure(kind: .unavailable, reason: "") }
                return try tls.start(on: channel, to: host, offersHTTP2: !requirement.isRequired)
            }
            .flatMap { $0 }
            .flatMap { agreed in
                switch agreed {
                case .http1:
                    return channel.eventLoop.makeCompletedFuture {
                        try configureHTTP1(on: channel, makeHandlers())
                        return HTTPConnection(channel: channel, negotiated: .http1)
                    }
                case .http2:
                    readAtLength(on: channel)
                    guard let tls else { preconditionFailure("TLS negotiated HTTP/2") }
                    return tls.openStream(on: channel, isLast: !keeps) { stream in
                        try stream.pipeline.syncOperations.addHandlers(makeHandlers())
                    }
                    .map { HTTPConnection(channel: $0, negotiated: .http2, tls: tls) }
                }
            }
            negotiated.whenComplete { result in
                timer.cancel()
                if case .failure = result { channel.close(promise: nil) }
            }
            return negotiated
        }
    }

    /// Adds the HTTP/1.1 codec to a connection.
    private func configureHTTP1(on channel: any Channel, _ handlers: [any ChannelHandler]) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(HTTPRequestEncoder())
        try pipeline.addHandler(ByteToMessageHandler(Self.makeDecoder()))
        try pipeline.addHandler(HTTP1ToHTTPClientCodec())
        try pipeline.addHandlers(handlers)
    }

    /// A decoder that takes a field line of 16 KiB at most, and 128 of them in a header or trailer section of 64 KiB.
    static func makeDecoder() -> HTTPResponseDecoder {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = 16 << 10
        decoding.maxHeaderListSize = 64 << 10
        decoding.maxHeaderFieldCount = 128
        return HTTPResponseDecoder(informationalResponseStrategy: .forward, limitConfiguration: decoding)
    }

    /// Reads per readiness event before other channels get their turn: 4, NIO's default.
    private var readsPerEvent: UInt { readLength == nil ? 4 : 1 }

    /// The maximum size of a TLS record with its header (RFC 8446, section 5.2).
    private static let maximumRecordSize = (1 << 14) + 256 + 5

    private func receiveAllocator(isSecure: Bool) -> any RecvByteBufferAllocator {
        guard let length = readLength else { return adaptiveAllocator }
        return FixedSizeRecvByteBufferAllocator(capacity: isSecure ? max(length, Self.maximumRecordSize) : length)
    }

    private var adaptiveAllocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(minimum: 4 << 10, initial: 64 << 10, maximum: Self.maximumReadSize)
    }

    /// Switches to adaptive reads, on the channel's loop. Frames queued in a stream retain their read buffer, which
    /// would be many times larger than their payload with short reads.
    private func readAtLength(on channel: any Channel) {
        guard readLength != nil else { return }
        try? channel.syncOptions?.setOption(.recvAllocator, value: adaptiveAllocator)
    }
}
