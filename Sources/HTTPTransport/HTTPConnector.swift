import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import NIOPosix

/// Makes connections for requests: looks names up, connects, through a proxy or not, goes through the handshake of TLS, and
/// adds what reads and writes messages in the protocol that was agreed on.
public struct HTTPConnector: Sendable {
    /// The server of a request.
    public struct Destination: Sendable {
        /// A name, or an address without brackets.
        public var host: String
        /// The port, 1 to 65535.
        public var port: Int
        /// Whether it is spoken to by TLS.
        public var isSecure: Bool

        /// Makes a destination.
        public init(host: String, port: Int, isSecure: Bool) {
            self.host = host
            self.port = port
            self.isSecure = isSecure
        }
    }

    /// The limits that responses by HTTP/1.1 are held to.
    public struct Limits: Sendable {
        /// The longest field line, in bytes.
        public var longestField: Int
        /// The longest head or trailer section, in bytes.
        public var longestHead: Int
        /// The most field lines of a head or a trailer section.
        public var mostFields: Int
        /// The most bytes of one read of the socket.
        public var longestRead: Int
        /// The bytes of each read where the response is taken slowly: few wait in memory then, and the server sees an even flow. TLS
        /// reads a record at least, and HTTP/2 has a window instead. `nil` for reads as long as they get.
        public var readLength: Int?

        /// Makes limits.
        public init(
            longestField: Int,
            longestHead: Int,
            mostFields: Int,
            longestRead: Int,
            readLength: Int? = nil
        ) {
            self.longestField = longestField
            self.longestHead = longestHead
            self.mostFields = mostFields
            self.longestRead = longestRead
            self.readLength = readLength
        }
    }

    private let group: any EventLoopGroup
    private let tls: TLSClient
    private let timeout: TimeAmount
    private let limits: Limits
    private let requirement: HTTP1Requirement

    /// Makes a connector.
    ///
    /// - Parameters:
    ///   - timeout: The longest that a connection may take: the lookup of names, the tunnel of a proxy and the handshake of TLS
    ///     included.
    ///   - requirement: Whether the connections are of HTTP/1.1, whatever the server offers.
    public init(
        group: any EventLoopGroup,
        tls: TLSClient,
        timeout: TimeAmount,
        limits: Limits,
        requirement: HTTP1Requirement = HTTP1Requirement()
    ) {
        self.requirement = requirement
        self.group = group
        self.tls = tls
        self.timeout = timeout
        self.limits = limits
    }

    /// Connects to `destination`, with the handler that `makeHandler` makes as the last of the request's channel. Nothing of a
    /// response is read before somebody asks for it. A cancelled task doesn't wait for the time limit.
    ///
    /// - Throws: the error of the connection: a `TLSFailure`, an `HTTPProxyFailure`, an error of NIO, a `TLSSettingsProblem`, or
    ///   `CancellationError`.
    public func connect(
        to destination: Destination,
        through proxy: HTTPProxy? = nil,
        _ makeHandler: @escaping @Sendable () -> any ChannelHandler
    ) async throws -> HTTPConnection {
        let deadline = NIODeadline.now() + timeout
        let connecting = ClientBootstrap(group: group)
            .connectTimeout(timeout)
            .channelOption(.autoRead, value: false)
            .channelOption(.recvAllocator, value: receiveAllocator(isSecure: destination.isSecure))
            .channelOption(.maxMessagesPerRead, value: mostReads)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if !destination.isSecure { try speakHTTP1(on: channel, makeHandler()) }
                }
            }
            .connect(host: proxy?.host ?? destination.host, port: proxy?.port ?? destination.port)
            .flatMap { channel -> EventLoopFuture<HTTPConnection> in
                guard destination.isSecure else {
                    let connection = HTTPConnection(channel: channel, spoken: .http1, forwarder: proxy)
                    return channel.eventLoop.makeSucceededFuture(connection)
                }
                return secure(channel, destination, through: proxy, until: deadline, makeHandler)
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

    /// Makes a tunnel if there is a proxy, and goes through the handshake of TLS, on a connected channel, which is closed where
    /// that fails.
    private func secure(
        _ channel: any Channel,
        _ destination: Destination,
        through proxy: HTTPProxy?,
        until deadline: NIODeadline,
        _ makeHandler: @escaping @Sendable () -> any ChannelHandler
    ) -> EventLoopFuture<HTTPConnection> {
        channel.eventLoop.flatSubmit {
            let timer = channel.eventLoop.scheduleTask(deadline: deadline) {
                // The handshake fails with the end of the channel, and the error of a connection stands for that.
                channel.pipeline.fireErrorCaught(ChannelError.connectTimeout(.zero))
            }
            let tunnel: EventLoopFuture<Void>
            if let proxy {
                let host = destination.host.contains(":") ? "[\(destination.host)]" : destination.host
                let authority = "\(host):\(destination.port)"
                tunnel = ProxyTunnel.open(to: authority, through: proxy, on: channel, limits: limits)
            } else {
                tunnel = channel.eventLoop.makeSucceededVoidFuture()
            }
            let speaking: EventLoopFuture<HTTPConnection> = tunnel.flatMapThrowing {
                try tls.start(on: channel, to: destination.host, offersHTTP2: !requirement.isRequired)
            }
            .flatMap { $0 }
            .flatMap { agreed in
                switch agreed {
                case .http1:
                    return channel.eventLoop.makeCompletedFuture {
                        try speakHTTP1(on: channel, makeHandler())
                        return HTTPConnection(channel: channel, spoken: .http1)
                    }
                case .http2:
                    readAtLength(on: channel)
                    return HTTP2Client.openStream(on: channel) { stream in
                        try stream.pipeline.syncOperations.addHandler(makeHandler())
                    }
                    .map { HTTPConnection(channel: $0, spoken: .http2) }
                }
            }
            speaking.whenComplete { result in
                timer.cancel()
                if case .failure = result { channel.close(promise: nil) }
            }
            return speaking
        }
    }

    /// Adds what reads and writes the messages of HTTP/1.1 on a connection.
    private func speakHTTP1(on channel: any Channel, _ handler: any ChannelHandler) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(HTTPRequestEncoder())
        try pipeline.addHandler(ByteToMessageHandler(Self.makeDecoder(limits)))
        try pipeline.addHandler(HTTP1ToHTTPClientCodec())
        try pipeline.addHandler(handler)
    }

    static func makeDecoder(_ limits: Limits) -> HTTPResponseDecoder {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = limits.longestField
        decoding.maxHeaderListSize = limits.longestHead
        decoding.maxHeaderFieldCount = limits.mostFields
        return HTTPResponseDecoder(informationalResponseStrategy: .forward, limitConfiguration: decoding)
    }

    /// The reads of a socket that is ready, before the others of its loop have their turn: 4, as NIO does it.
    private var mostReads: UInt { limits.readLength == nil ? 4 : 1 }

    /// The longest record of TLS (RFC 8446, section 5.2), with its head.
    private static let longestRecord = (1 << 14) + 256 + 5

    private func receiveAllocator(isSecure: Bool) -> any RecvByteBufferAllocator {
        guard let length = limits.readLength else { return adaptiveAllocator }
        return FixedSizeRecvByteBufferAllocator(capacity: isSecure ? max(length, Self.longestRecord) : length)
    }

    private var adaptiveAllocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(minimum: 4 << 10, initial: 64 << 10, maximum: limits.longestRead)
    }

    /// Reads as much as there is, on the channel's loop. Frames that wait in a stream keep what was read with them: of short reads
    /// that is many times their bytes.
    private func readAtLength(on channel: any Channel) {
        guard limits.readLength != nil else { return }
        try? channel.syncOptions?.setOption(.recvAllocator, value: adaptiveAllocator)
    }
}
