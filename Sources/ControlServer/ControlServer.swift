#if Control
    public import ControlAPI
    import HTTPTypes
    import Hummingbird
    import HummingbirdCore
    import Logging
    import NIOCore
    import NIOPosix
    import ServiceLifecycle

    /// The HTTP server of the control API.
    public struct ControlServer: Sendable {
        /// Why the server ended, or didn't start.
        public struct Failure: Error, Sendable {
            /// The system's message.
            public let description: String
            /// Whether the port is taken.
            public let isAddressInUse: Bool
        }

        /// The most connections at a time; more wait: 1,024.
        public static let connectionLimit = 1_024
        /// The time that a request's body may take: 15 s.
        private static let bodyTimeout = Duration.seconds(15)
        /// The time without a request after which a connection is closed: 60 s.
        private static let idleTimeout = TimeAmount.seconds(60)

        private let handler: ControlHandler

        /// A server of `handler`'s responses.
        public init(_ handler: ControlHandler) { self.handler = handler }

        /// Listens on `host` and `port`, and serves until `stop` returns; then open responses have 2 s to end.
        ///
        /// - Parameter ready: called once with the port.
        public func run(
            host: String,
            port: Int,
            ready: @escaping @Sendable (Int) async -> Void,
            until stop: @escaping @Sendable () async -> Void
        ) async throws(Failure) {
            var logger = Logger(label: "squall") { _ in SwiftLogNoOpLogHandler() }
            logger.logLevel = .critical
            let application = Application(
                responder: Responder(handler: handler),
                server: .http1(
                    configuration: .init(
                        additionalChannelHandlers: [ContinueHandler()],
                        idleTimeout: ControlServer.idleTimeout
                    )
                ),
                configuration: ApplicationConfiguration(
                    address: .hostname(host, port: port),
                    availableConnectionsDelegate: MaximumAvailableConnections(
                        ControlServer.connectionLimit,
                        logger: logger
                    )
                ),
                onServerRunning: { channel in await ready(channel.localAddress?.port ?? port) },
                // Not a group that ends with the server: responses that are cut off unwind on it afterwards.
                eventLoopGroupProvider: .singleton,
                logger: logger
            )
            var configuration = ServiceGroupConfiguration(services: [application], logger: logger)
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
                throw Failure(description: "\(error)", isAddressInUse: number == 98)
            }
        }

        /// Hands requests with their bodies to the handler.
        private struct Responder: HTTPResponder {
            typealias Context = BasicRequestContext

            let handler: ControlHandler

            func respond(to request: Request, context: Context) async throws -> Response {
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
