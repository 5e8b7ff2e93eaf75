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

/// One request and its response, on a fresh connection.
struct HTTPAttempt: Sendable {
    private let connector: HTTPConnector
    private let proxies: ProxySettings
    private let refusesNetwork: (@Sendable (String) -> Bool)?
    private let requirement: HTTP1Requirement
    let limits: ResponseLimits

    /// A longer deadline is treated as this: some 30 years.
    private static let maximumRemaining = Duration.seconds(1_000_000_000)

    /// Makes an attempt that starts now.
    ///
    /// - Parameters:
    ///   - remaining: The time left until the transfer's deadline, including connecting; `nil` without one.
    ///   - requirement: Whether the server requires HTTP/1.1. The attempt updates it.
    init(
        _ configuration: TransferClientConfiguration,
        group: any EventLoopGroup,
        remaining: Duration?,
        requirement: HTTP1Requirement = HTTP1Requirement()
    ) {
        self.requirement = requirement
        let limit = max(.milliseconds(1), min(configuration.connectLimit, remaining ?? configuration.connectLimit))
        connector = HTTPConnector(
            group: group,
            tls: configuration.tls,
            timeout: .nanoseconds(limit.nanoseconds),
            limits: HTTPConnector.Limits(
                maximumFieldSize: ResponseLimits.maximumFieldSize,
                maximumHeadSize: ResponseLimits.maximumHeadSize,
                maximumFields: ResponseLimits.maximumFields,
                maximumReadSize: ResponseLimits.maximumReadSize,
                readLength: configuration.maximumRate.map { RateLimiter(rate: $0).chunkLength }
            ),
            requirement: requirement
        )
        proxies = configuration.proxies
        refusesNetwork = configuration.refusesNetwork
        limits = ResponseLimits(
            firstByte: configuration.firstByteLimit,
            stall: configuration.stall,
            deadline: remaining.map { .now() + .nanoseconds(min($0, Self.maximumRemaining).nanoseconds) }
        )
    }

    /// The parts of a response: heads, body parts, and the end with the trailers.
    typealias Parts = NIOAsyncChannelInboundStream<HTTPResponsePart>

    /// Sends the request, with `fields` added to or replacing its own, and passes the response parts to `receive`.
    /// Closes the connection when it returns.
    ///
    /// Throws the errors of `receive` and of the connection; `cause(of:)` classifies them.
    func perform<Outcome: Sendable>(
        _ plan: RequestPlan,
        at url: DownloadURL,
        with fields: [HTTPField],
        receive: (Parts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        var headerFields = plan.fields
        for field in fields { headerFields[fields: field.name] = fields.filter { $0.name == field.name } }
        return try await perform(plan.method, at: url, headerFields, receive: receive)
    }

    /// The same with a method, all fields, and a body.
    func perform<Outcome: Sendable>(
        _ method: HTTPRequest.Method,
        at url: DownloadURL,
        _ headerFields: HTTPFields,
        body: ByteBuffer? = nil,
        receive: (Parts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        let (limits, verdict) = (limits, AttemptErrorBox())
        let connection = try await connect(to: url) { ResponseTimeoutHandler(limits: limits, verdict: verdict) }
        let channel = connection.channel
        let wrapped: NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>
        do {
            wrapped = try await channel.eventLoop.submit { try Self.wrap(channel) }.get()
        } catch {
            channel.close(promise: nil)
            throw verdict.error ?? explained(error)
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
        return try await noting {
            try await wrapped.executeThenClose { inbound, outbound in
                // A server may respond and close before it has read the request.
                let parts: [HTTPRequestPart] =
                    body.map { [.head(request), .body($0), .end(nil)] } ?? [.head(request), .end(nil)]
                try? await outbound.write(contentsOf: parts)
                return try await receive(inbound, connection.negotiated)
            }
        }
    }

    /// Runs `body` and records if the server requires HTTP/1.1.
    func noting<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch {
            requirement.note(error)
            throw error
        }
    }

    /// Classifies an error for the retry decision; `nil` for a cancellation.
    static func cause(of error: any Error) -> TransientDownloadFailure? {
        switch error {
        case let error as AttemptError: error.cause
        case let error as TLSFailure: .connectFailed(error.description)
        case let error as HTTPParserError where error == .invalidEOFState:
            .connectionLost("it was closed in the middle of the answer")
        case HTTPParserError.unexpectedContentLength, HTTPParserError.invalidContentLength, HTTPParserError.unknown:
            ambiguousLength
        case let error as HTTPParserError: .malformedResponse(String(describing: error))
        case let error as HTTP1TypeConversionError: .malformedResponse(String(describing: error))
        case let error as NIOHTTPDecoderError: .malformedResponse(error.debugDescription)
        case ChannelError.connectTimeout: .connectTimedOut
        case let error as NIOConnectionError: connectFailure(of: error)
        case let error as ProxyConnectionError: connectFailure(of: error.reason, to: error.proxy)
        case let error as HTTPProxyFailure:
            .connectFailed(
                error.status.map { "the proxy \(error.proxy) answered \($0)" } ?? "the proxy \(error.proxy) closed"
            )
        case is CancellationError: nil
        default: lost(error)
        }
    }

    /// A head whose `Content-Length` is no number or beside `Transfer-Encoding`. The parser has no other error for `Content-Length` before
    /// `Transfer-Encoding` than the unknown one.
    static let ambiguousLength = TransientDownloadFailure.malformedResponse(
        "a Content-Length that is no number or beside Transfer-Encoding"
    )

    private static func lost(_ error: any Error) -> TransientDownloadFailure {
        if let failure = HTTP2Failure(error) {
            return failure.kind == .streamRefused
                ? .connectFailed("the server refused the stream") : .connectionLost(failure.description)
        }
        return .connectionLost(TLSFailure(error)?.description ?? description(of: error))
    }

    /// The reason why TLS can't be established with this server without changes.
    static func refusal(of error: any Error) -> TLSFailure? {
        guard let failure = TLSFailure(error), failure.isFinal else { return nil }
        return failure
    }

    /// The challenge of a proxy that refused a tunnel with 407.
    static func proxyChallenge(of error: any Error) -> DownloadChallenge? {
        guard let failure = error as? HTTPProxyFailure, failure.status == 407 else { return nil }
        var fields: HTTPFields = [:]
        fields[.proxyAuthenticate] = failure.challenge
        return DownloadChallenge(status: 407, fields)
    }

    /// Whether an error after the end of a response means that excess bytes arrived.
    static func isExcess(_ error: any Error) -> Bool {
        error is HTTPParserError || error is HTTP1TypeConversionError || error is NIOHTTPDecoderError
    }

    /// For a system error: "Connection reset by peer (errno 104)".
    private static func description(of error: any Error) -> String {
        guard let error = error as? IOError else { return String(describing: error) }
        return "\(Errno(rawValue: error.errnoCode)) (errno \(error.errnoCode))"
    }

    /// Classifies a failed connection to a proxy; the message names it.
    private static func connectFailure(of error: NIOConnectionError, to proxy: HTTPProxy) -> TransientDownloadFailure {
        guard case .connectFailed(let reason) = connectFailure(of: error) else { return connectFailure(of: error) }
        return .connectFailed("the proxy \(proxy) can't be reached: \(reason)")
    }

    private static func connectFailure(of error: NIOConnectionError) -> TransientDownloadFailure {
        let single = error.connectionErrors.last?.error
        if case ChannelError.connectTimeout? = single { return .connectTimedOut }
        if let single {
            let code = (single as? IOError).map { Errno(rawValue: $0.errnoCode) }
            return [.networkUnreachable, .noRouteToHost, .networkDown].contains(code)
                ? .unreachable(description(of: single)) : .connectFailed(description(of: single))
        }
        guard let lookup = error.dnsAError ?? error.dnsAAAAError else { return .connectFailed("no address") }
        return .unreachable("the name \(error.host) can't be looked up: \(description(of: lookup))")
    }

    /// Connects for a request to `url`, through its proxy if any, with the handler of `watch` as the last.
    func connect(
        to url: DownloadURL,
        watch: @escaping @Sendable () -> any ChannelHandler
    ) async throws -> HTTPConnection {
        let proxy: HTTPProxy?
        do throws(ProxyProblem) {
            proxy = try proxies.proxy(for: url).map {
                HTTPProxy(host: $0.host, port: $0.port, authorization: $0.authorization)
            }
        } catch {
            throw DownloadError.invalidProxy(error)
        }
        if refusesNetwork?(proxy?.host ?? url.host) == true {
            throw AttemptError(
                cause: .unreachable("the network there is expensive or constrained, which isn't allowed")
            )
        }
        let destination = HTTPConnector.Destination(host: url.host, port: url.port, isSecure: url.scheme == .https)
        do {
            return try await connector.connect(to: destination, through: proxy, watch)
        } catch {
            if let proxy, let reason = error as? NIOConnectionError {
                throw explained(ProxyConnectionError(proxy: proxy, reason: reason))
            }
            throw explained(error)
        }
    }

    /// The error of a connection, or a passed deadline that caused it.
    func explained(_ error: any Error) -> any Error {
        guard !(error is CancellationError), let deadline = limits.deadline, NIODeadline.now() >= deadline else {
            return error
        }
        return AttemptError(cause: .deadlineExceeded)
    }

    /// Wraps the channel's parts in an async sequence and starts reading. Called on the channel's loop. Throws when the
    /// channel is closed: its parts would only end, without an error.
    static func wrap(_ channel: any Channel) throws -> NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart> {
        guard channel.isActive else {
            throw AttemptError(cause: .connectionLost("it was closed before the answer"))
        }
        let wrapped = try NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>(
            wrappingChannelSynchronously: channel,
            configuration: .init(
                backPressureStrategy: .init(
                    lowWatermark: ResponseLimits.minimumParts,
                    highWatermark: ResponseLimits.maximumParts
                )
            )
        )
        // If the channel closes meanwhile, the reader of the parts gets the error.
        try? channel.syncOptions?.setOption(.autoRead, value: true)
        channel.read()
        return wrapped
    }
}

/// A proxy that can't be connected to.
private struct ProxyConnectionError: Error {
    let proxy: HTTPProxy
    let reason: NIOConnectionError
}
