#if Control
    import ControlAPI
    import HTTPTransport
    import HTTPTypes
    import HummingbirdCore
    import Logging
    import NIOCore
    import NIOHTTP1
    import NIOPosix
    import ServiceLifecycle

    /// The HTTP server of the control API.
    package struct ControlServer: ControlServing {
        /// The time that a request's body may take: 15 s.
        static let bodyTimeout = Duration.seconds(15)
        /// The time that a TLS handshake may take: 10 s.
        static let handshakeTimeout = TimeAmount.seconds(10)
        /// The time after which a connection without a request is closed, and one whose client takes nothing: 60 s.
        private static let idleTimeout = TimeAmount.seconds(60)

        private let tls: (any ServerTLS)?

        /// Makes a server, with `tls` one of HTTPS.
        ///
        /// - Parameter tls: The server side of TLS, which doesn't offer HTTP/2; `nil` for none.
        package init(tls: (any ServerTLS)?) { self.tls = tls }

        /// See `ControlServing`.
        package func run(
            _ handler: ControlHandler,
            host: String,
            port: Int,
            connectionLimit: Int,
            report: @escaping @Sendable (CInt) -> Void,
            ready: @escaping @Sendable (Int) async -> Void,
            until stop: @escaping @Sendable () async -> Void
        ) async throws(ControlServerFailure) {
            var logger = Logger(label: "squall") { _ in SwiftLogNoOpLogHandler() }
            logger.logLevel = .critical
            let responder = Responder(handler: handler)
            let plain = HTTP1Channel(
                responder: { request, writer, channel in
                    let response = try await responder.respond(to: request, on: channel)
                    do {
                        try await writer.write(response: response.head, body: response.body)
                    } catch is HTTPParserError {
                        // The next request can't be read. The server would answer 400 in the midst of this response.
                        throw ChannelError.eof
                    }
                },
                configuration: .init(
                    additionalChannelHandlers: [
                        RequestHeadHandler(
                            dropTime: TimeAmount(ControlServer.bodyTimeout),
                            stallTime: ControlServer.idleTimeout
                        ) { head in
                            handler.refusal(of: APIRequest(head)) != nil
                        }
                    ],
                    idleTimeout: ControlServer.idleTimeout
                )
            )
            let child: any ServerChildChannel = if let tls { SecureChannel(base: plain, tls: tls) } else { plain }
            let server = child.server(
                configuration: ServerConfiguration(
                    address: .hostname(await address(of: host), port: port),
                    availableConnectionsDelegate: MaximumAvailableConnections(connectionLimit, logger: logger)
                ),
                onServerRunning: { channel in
                    try? await channel.pipeline.addHandler(AcceptPause { $0.map(report) }, position: .first).get()
                    await ready(channel.localAddress?.port ?? port)
                },
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
                throw ControlServerFailure(
                    description: "\(error)",
                    errno: (error as? IOError)?.errnoCode,
                    isNameUnknown: error is SocketAddressError.UnknownHost
                )
            }
        }
    }
#endif
