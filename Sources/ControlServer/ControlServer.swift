#if Control
    public import ControlAPI
    import HTTPTypes
    import HTTPSemantics
    import HummingbirdCore
    import Logging
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import ServiceLifecycle

    /// The HTTP server of the control API.
    public struct ControlServer: ControlServing {
        /// The most connections at a time; more wait: 1,024.
        public static let connectionLimit = 1_024
        /// The time that a request's body may take: 15 s.
        private static let bodyTimeout = Duration.seconds(15)
        /// The time without a request after which a connection is closed: 60 s.
        private static let idleTimeout = TimeAmount.seconds(60)

        /// Makes a server.
        public init() {}

        /// See `ControlServing`.
        public func run(
            _ handler: ControlHandler,
            host: String,
            port: Int,
            ready: @escaping @Sendable (Int) async -> Void,
            until stop: @escaping @Sendable () async -> Void
        ) async throws(ControlServerFailure) {
            var logger = Logger(label: "squall") { _ in SwiftLogNoOpLogHandler() }
            logger.logLevel = .critical
            let server = Server(
                childChannelSetup: HTTP1Channel(
                    responder: { request, writer, _ in
                        let response = try await Responder(handler: handler).response(to: request)
                        do {
                            try await writer.write(response: response.head, body: response.body)
                        } catch is HTTPParserError {
                            // The next request can't be read. The server would answer 400 in the midst of this response.
                            throw ChannelError.eof
                        }
                    },
                    configuration: .init(
                        additionalChannelHandlers: [ContinueHandler()],
                        idleTimeout: ControlServer.idleTimeout
                    )
                ),
                configuration: ServerConfiguration(
                    address: .hostname(host, port: port),
                    availableConnectionsDelegate: MaximumAvailableConnections(
                        ControlServer.connectionLimit,
                        logger: logger
                    )
                ),
                onServerRunning: { channel in await ready(channel.localAddress?.port ?? port) },
                // Not a group that ends with the server: responses that are cut off unwind on it afterwards.
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                logger: logger
            )
            var configuration = ServiceGroupConfiguration(services: [server], logger: logger)
            configuration.maximumGracefulShutdownDuration = .seconds(2)
            let services = ServiceGroup(configuration: configuration)
            let stopper = Task {
                await stop()
                await services.triggerGracefulShutdown()
            }
            defer { stopper.cancel() }
            do {
                try await services.run()
            } catch {
                // A response that outlives its time is cut off.
                if stopper.isCancelled || error is ServiceGroupError { return }
                let number = (error as? IOError)?.errnoCode
                throw ControlServerFailure(description: "\(error)", isAddressInUse: number == 98)
            }
        }

        /// Hands requests with their bodies to the handler.
        private struct Responder {
            let handler: ControlHandler

            func response(to request: Request) async throws -> Response {
                let target = request.head.path ?? "/"
                let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
                var asked = APIRequest(
                    method: request.method,
                    path: String(parts[0]),
                    query: parts.count > 1 ? String(parts[1]) : "",
                    fields: request.headers,
                    authority: request.head.authority,
                    body: []
                )
                let response: APIResponse
                do {
                    asked.body = try await Responder.body(of: request)
                    response = await handler.respond(to: asked)
                } catch is NIOTooManyBytesError {
                    let reason = "the body has more than \(ControlHandler.bodyLimit) bytes"
                    response = ControlHandler.unread(asked, 413, reason)
                } catch is CancellationError {
                    response = ControlHandler.unread(asked, 408, "the body didn't come in time")
                }
                return Responder.response(response, withoutContent: request.method == .head)
            }

            /// The body, or `CancellationError` if it takes too long.
            private static func body(of request: Request) async throws -> [UInt8] {
                if request.headers[.contentLength] == nil, request.headers[.transferEncoding] == nil { return [] }
                return try await withThrowingTaskGroup(of: [UInt8].self) { group in
                    group.addTask {
                        let buffer = try await request.body.collect(upTo: ControlHandler.bodyLimit)
                        return Array(buffer.readableBytesView)
                    }
                    group.addTask {
                        try await Task.sleep(for: ControlServer.bodyTimeout)
                        throw CancellationError()
                    }
                    defer { group.cancelAll() }
                    return try await group.next() ?? []
                }
            }

            /// The response; without its content after HEAD (RFC 9110, section 9.3.2).
            private static func response(_ response: APIResponse, withoutContent: Bool) -> Response {
                let body: ResponseBody =
                    switch response.body {
                    case .bytes(let bytes): ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
                    case .stream(let parts): ResponseBody(asyncSequence: parts.map { ByteBuffer(bytes: $0) })
                    }
                let whole = Response(status: .init(code: response.status), headers: response.fields, body: body)
                return withoutContent ? whole.createHeadResponse() : whole
            }
        }
    }
#endif
