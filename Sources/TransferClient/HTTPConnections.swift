import Glibc
import HTTPTransport
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOPosix
import OperatingSystem
import SystemPackage
import TransferProtocol
import Units

/// The connections of one transfer: one for each request.
struct HTTPConnections: RequestSending {
    let configuration: TransferClientConfiguration
    let direction: TransferDirection
    let group: any EventLoopGroup
    /// Whether the server requires HTTP/1.1, as earlier requests showed.
    private let requirement = ProtocolFallback()

    /// The maximum number of unsent bytes of an upload in the kernel.
    private static let maximumUnsentBytes = 256 << 10
    /// The maximum number of interim responses to one request of an upload.
    private static let maximumUploadInterimResponses = 10_000

    @_semantics("optimize.sil.specialize.generic.never")
    func send<Outcome: Sendable>(
        _ request: HTTPRequest,
        to url: TransferURL,
        _ content: UploadBodyWriter?,
        within remaining: Duration?,
        receive: (ResponseParts, HTTPProtocol) async throws -> Outcome
    ) async throws -> Outcome {
        let (limits, firstError) = (limits(within: remaining), FirstValue<TransientFailure>())
        let connection = try await connect(to: url, limits) {
            [AttemptTimeoutHandler(limits: limits, firstError: firstError)]
        }
        let channel = connection.channel
        let wrapped: NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>
        do {
            wrapped = try await channel.eventLoop.submit { try Self.wrap(channel) }.get()
        } catch {
            channel.close(promise: nil)
            throw firstError.current ?? error
        }
        let head = connection.prepared(request, isLast: true)
        do {
            return try await wrapped.executeThenClose { inbound, outbound in
                // A server may respond and close before it has read the request.
                guard let content else {
                    try? await outbound.write(contentsOf: [.head(head), .end(nil)])
                    return try await receive(inbound, connection.negotiated)
                }
                try? await outbound.write(.head(head))
                async let _: Void = content.run(through: outbound) {
                    try await channel.eventLoop.submit {}.get()
                } close: {
                    channel.close(promise: nil)
                }
                return try await receive(inbound, connection.negotiated)
            }
        } catch {
            requirement.note(error)
            throw error
        }
    }

    func limits(within remaining: Duration?) -> AttemptLimits {
        var limits = AttemptLimits(response: configuration.firstByteLimit, stall: configuration.stall)
        if direction == .upload {
            limits.response = configuration.uploadResponseLimit
            limits.isExtended = true
            limits.interimResponses = Self.maximumUploadInterimResponses
        }
        limits.deadline = remaining.map { .now() + .nanoseconds(min($0, TransferEngine.longest).nanoseconds) }
        return limits
    }

    /// Connects for a request to `url`, through its proxy if any, or for several if `keeps`.
    func connect(
        to url: TransferURL,
        _ limits: AttemptLimits,
        keeps: Bool = false,
        _ makeHandlers: @escaping @Sendable () -> [any ChannelHandler]
    ) async throws -> HTTPConnection {
        let proxy: HTTPProxy?
        do throws(ProxyProblem) {
            proxy = try configuration.proxies.proxy(for: url).map {
                HTTPProxy(host: $0.host, port: $0.port, authorization: $0.authorization)
            }
        } catch {
            throw TransferError.invalidProxy(error)
        }
        if configuration.refusesNetwork?(proxy?.host ?? url.host) == true {
            throw TransientFailure.unreachable("the network there is expensive or constrained, which isn't allowed")
        }
        let remaining = limits.deadline.map { Duration.nanoseconds(($0 - .now()).nanoseconds) }
        let limit = max(.milliseconds(1), min(configuration.connectLimit, remaining ?? configuration.connectLimit))
        let connector = HTTPConnector(
            group: group,
            tls: configuration.tls,
            timeout: .nanoseconds(limit.nanoseconds),
            readLength: configuration.maximumRate.map { RateLimiter(rate: $0).chunkLength },
            requirement: requirement
        )
        do {
            let connection = try await connector.connect(
                to: url.host,
                port: url.port,
                isSecure: url.scheme == .https,
                through: proxy,
                keeps: keeps,
                makeHandlers
            )
            if direction == .upload {
                // Unsent bytes in the kernel would count as progress. Optional: only some systems have the option.
                let unsent = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_NOTSENT_LOWAT))
                try? await connection.socket.setOption(unsent, value: Self.maximumUnsentBytes).get()
            }
            return connection
        } catch {
            if !(error is CancellationError), !(error is TransientFailure), let deadline = limits.deadline,
                .now() >= deadline
            {
                throw TransientFailure.deadlineExceeded
            }
            guard let proxy, let reason = error as? NIOConnectionError else { throw error }
            throw ProxyConnectionError(proxy: proxy, reason: reason)
        }
    }

    /// Wraps the channel's parts in an async sequence and starts reading. Called on the channel's loop. Throws when the
    /// channel is closed: its parts would only end, without an error.
    private static func wrap(_ channel: any Channel) throws -> NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart> {
        guard channel.isActive else {
            throw TransientFailure.connectionLost("it was closed before the answer")
        }
        let wrapped = try NIOAsyncChannel<HTTPResponsePart, HTTPRequestPart>(
            wrappingChannelSynchronously: channel,
            configuration: .init(
                backPressureStrategy: .init(
                    lowWatermark: AttemptLimits.minimumParts,
                    highWatermark: AttemptLimits.maximumParts
                )
            )
        )
        // If the channel closes meanwhile, the reader of the parts gets the error.
        try? channel.syncOptions?.setOption(.autoRead, value: true)
        channel.read()
        return wrapped
    }
}
