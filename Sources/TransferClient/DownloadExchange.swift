import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import SystemPackage
import TransferProtocol
import Units

/// One connection, one request, one response.
struct DownloadExchange: Sendable {
    let group: any EventLoopGroup
    let tls: TLSClient
    /// How long connecting may take, the handshake of TLS included.
    let connectLimit: Duration
    let limits: ResponseLimits

    /// Deadlines beyond it are as good as none: some 30 years.
    private static let longestRemaining = Duration.seconds(1_000_000_000)

    /// Makes an exchange that begins now.
    ///
    /// - Parameter remaining: What is left until the deadline of the transfer, connecting included; `nil` without one.
    init(
        _ configuration: TransferClientConfiguration,
        group: any EventLoopGroup,
        tls: TLSClient,
        remaining: Duration?
    ) {
        self.group = group
        self.tls = tls
        connectLimit = max(.milliseconds(1), min(configuration.connectLimit, remaining ?? configuration.connectLimit))
        limits = ResponseLimits(
            firstByte: configuration.firstByteLimit,
            stall: configuration.stall,
            deadline: remaining.map { .now() + .nanoseconds(min($0, Self.longestRemaining).nanoseconds) }
        )
    }

    /// Where a request can be written and its responses be read.
    struct Connection: Sendable {
        /// The channel of one request: a connection, or a stream on it.
        let channel: any Channel
        /// What is spoken.
        let spoken: HTTPProtocol

        /// The channel of the connection itself.
        var socket: any Channel { channel.parent ?? channel }

        /// A request as it is sent on it. HTTP/1.1 is told that no other follows; HTTP/2 has no such field.
        func prepared(_ request: HTTPRequest) -> HTTPRequest {
            var request = request
            request.headerFields[.connection] = spoken == .http1 ? "close" : nil
            return request
        }
    }

    /// The parts of a final response: a head, parts of its body, and its end with the trailers.
    typealias Parts = NIOAsyncChannelInboundStream<HTTPResponsePart>

    /// Sends the request, with `fields` in addition to its own or in their place, and hands the response's parts to
    /// `receive`; the connection is closed when it returns.
    ///
    /// Throws what `receive` throws, and whatever kept the connection from being made; `setback(of:)` names it.
    func perform<Outcome: Sendable>(
        _ ask: DownloadAsk,
        at url: DownloadURL,
        with fields: [HTTPField],
        receive: (Parts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        var headerFields = ask.fields
        for field in fields { headerFields[fields: field.name] = fields.filter { $0.name == field.name } }
        return try await perform(ask.method, at: url, headerFields, receive: receive)
    }

    /// The same with a method, all of its fields, and a body.
    func perform<Outcome: Sendable>(
        _ method: HTTPRequest.Method,
        at url: DownloadURL,
        _ headerFields: HTTPFields,
        body: ByteBuffer? = nil,
        receive: (Parts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        let limits = limits
        let connection = try await connect(to: url) { ResponseWatch(limits: limits) }
        let channel = connection.channel
        let wrapped: NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>
        do {
            wrapped = try await channel.eventLoop.submit { try Self.wrap(channel) }.get()
        } catch {
            channel.close(promise: nil)
            throw explained(error)
        }
        let request = connection.prepared(
            HTTPRequest(
                method: method,
                scheme: url.scheme.rawValue,
                authority: url.authority,
                path: url.target,
                headerFields: headerFields
            )
        )
        return try await wrapped.executeThenClose { inbound, outbound in
            // A server that answers and closes before it has read is still to be listened to.
            let parts: [HTTPRequestPart] =
                body.map { [.head(request), .body($0), .end(nil)] } ?? [.head(request), .end(nil)]
            try? await outbound.write(contentsOf: parts)
            return try await receive(inbound, connection.spoken)
        }
    }

    /// Names what a thrown error means for the next attempt; `nil` for a cancellation.
    static func setback(of error: any Error) -> DownloadSetback? {
        switch error {
        case let error as WatchError: error.setback
        case let error as TLSFailure: .connectFailed(error.description)
        case let error as HTTPParserError where error == .invalidEOFState:
            .connectionLost("it was closed in the middle of the answer")
        case let error as HTTPParserError: .malformedResponse(String(describing: error))
        case let error as HTTP1TypeConversionError: .malformedResponse(String(describing: error))
        case let error as NIOHTTPDecoderError: .malformedResponse(error.debugDescription)
        case ChannelError.connectTimeout: .connectTimedOut
        case let error as NIOConnectionError: connectSetback(of: error)
        case is CancellationError: nil
        default:
            .connectionLost(TLSFailure(error)?.description ?? HTTP2Failure(error)?.description ?? words(of: error))
        }
    }

    /// Why TLS can't be had with this server, as long as nothing is changed.
    static func refusal(of error: any Error) -> TLSFailure? {
        guard let failure = TLSFailure(error), failure.isFinal else { return nil }
        return failure
    }

    /// Whether an error after the end of a response means that more bytes came.
    static func isSurplus(_ error: any Error) -> Bool {
        error is HTTPParserError || error is HTTP1TypeConversionError || error is NIOHTTPDecoderError
    }

    /// "Connection reset by peer (errno 104)" where the error comes from the system.
    private static func words(of error: any Error) -> String {
        guard let error = error as? IOError else { return String(describing: error) }
        return "\(Errno(rawValue: error.errnoCode)) (errno \(error.errnoCode))"
    }

    private static func connectSetback(of error: NIOConnectionError) -> DownloadSetback {
        let single = error.connectionErrors.last?.error
        if case ChannelError.connectTimeout? = single { return .connectTimedOut }
        if let single { return .connectFailed(words(of: single)) }
        guard let lookup = error.dnsAError ?? error.dnsAAAAError else { return .connectFailed("no address") }
        return .connectFailed("the name \(error.host) can't be looked up: \(words(of: lookup))")
    }

    /// Connects, and proves the server of an `https` URL, with a handler of `watch` as the last; a cancelled task doesn't wait
    /// for the limit.
    func connect(
        to url: DownloadURL,
        watch: @escaping @Sendable () -> any ChannelHandler
    ) async throws -> Connection {
        let start = NIODeadline.now()
        let isSecure = url.scheme == .https
        let connecting: EventLoopFuture<Connection> = ClientBootstrap(group: group)
            .connectTimeout(.nanoseconds(connectLimit.nanoseconds))
            // Nothing is read before somebody listens.
            .channelOption(.autoRead, value: false)
            .channelOption(.recvAllocator, value: Self.receiveAllocator)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if !isSecure { try Self.speakHTTP1(on: channel, watch()) }
                }
            }
            .connect(host: url.host, port: url.port)
            .flatMap { [tls, connectLimit] channel in
                guard isSecure else {
                    return channel.eventLoop.makeSucceededFuture(Connection(channel: channel, spoken: .http1))
                }
                let limit = start + .nanoseconds(connectLimit.nanoseconds)
                return DownloadExchange.secure(channel, tls, host: url.host, until: limit, watch: watch)
            }
        let promise = connecting.eventLoop.makePromise(of: Connection.self)
        connecting.cascade(to: promise)
        do {
            return try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                promise.fail(CancellationError())
                connecting.whenSuccess { $0.socket.close(promise: nil) }
            }
        } catch {
            throw explained(error)
        }
    }

    /// The error of a connection, or, whatever the connection says of it, that the deadline ended it.
    func explained(_ error: any Error) -> any Error {
        guard !(error is CancellationError), let deadline = limits.deadline, NIODeadline.now() >= deadline else {
            return error
        }
        return WatchError(setback: .outOfTime)
    }

    /// Adds what reads and writes the messages of HTTP/1.1 on a connection.
    private static func speakHTTP1(on channel: any Channel, _ watch: any ChannelHandler) throws {
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = ResponseLimits.longestField
        decoding.maxHeaderListSize = ResponseLimits.longestHead
        decoding.maxHeaderFieldCount = ResponseLimits.mostFields
        let decoder = HTTPResponseDecoder(informationalResponseStrategy: .forward, limitConfiguration: decoding)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(HTTPRequestEncoder())
        try pipeline.addHandler(ByteToMessageHandler(decoder))
        try pipeline.addHandler(HTTP1ToHTTPClientCodec())
        try pipeline.addHandler(watch)
    }

    /// Goes through the handshake of TLS on a connected channel, which is closed if that fails, and speaks what the server
    /// wants to.
    ///
    private static func secure(
        _ channel: any Channel,
        _ tls: TLSClient,
        host: String,
        until limit: NIODeadline,
        watch: @escaping @Sendable () -> any ChannelHandler
    ) -> EventLoopFuture<Connection> {
        channel.eventLoop.flatSubmit {
            let timer = channel.eventLoop.scheduleTask(deadline: limit) {
                // The handshake fails with the end of the channel, and the error of a connection stands for that.
                channel.pipeline.fireErrorCaught(ChannelError.connectTimeout(.zero))
            }
            let agreed: EventLoopFuture<HTTPProtocol>
            do {
                agreed = try tls.start(on: channel, to: host)
            } catch {
                agreed = channel.eventLoop.makeFailedFuture(error)
            }
            let speaking: EventLoopFuture<Connection> = agreed.flatMap { agreed in
                switch agreed {
                case .http1:
                    channel.eventLoop.makeCompletedFuture {
                        try speakHTTP1(on: channel, watch())
                        return Connection(channel: channel, spoken: .http1)
                    }
                case .http2:
                    HTTP2Client.openStream(on: channel) { stream in
                        try stream.pipeline.syncOperations.addHandler(watch())
                    }
                    .map { Connection(channel: $0, spoken: .http2) }
                }
            }
            speaking.whenComplete { result in
                timer.cancel()
                if case .failure = result { channel.close(promise: nil) }
            }
            return speaking
        }
    }

    private static var receiveAllocator: AdaptiveRecvByteBufferAllocator {
        AdaptiveRecvByteBufferAllocator(minimum: 4 << 10, initial: 64 << 10, maximum: ResponseLimits.longestRead)
    }

    /// Makes the channel's parts awaitable, and begins to read. On the channel's loop.
    static func wrap(_ channel: any Channel) throws -> NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart> {
        let wrapped = try NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>(
            wrappingChannelSynchronously: channel,
            configuration: .init(
                backPressureStrategy: .init(
                    lowWatermark: ResponseLimits.fewestParts,
                    highWatermark: ResponseLimits.mostParts
                )
            )
        )
        // A channel that was closed meanwhile says so to whoever reads the parts.
        try? channel.syncOptions?.setOption(.autoRead, value: true)
        channel.read()
        return wrapped
    }
}
