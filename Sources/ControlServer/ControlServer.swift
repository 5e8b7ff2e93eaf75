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

        /// The most connections at a time, unless fewer are given; more wait: 1,024.
        public static let connectionLimit = 1_024
        /// The time that a request's body may take: 15 s.
        static let bodyTimeout = Duration.seconds(15)
        /// The time without a request after which a connection is closed: 60 s.
        private static let idleTimeout = TimeAmount.seconds(60)

        private let handler: ControlHandler
        private let connectionLimit: Int
        private let report: @Sendable (CInt) -> Void

        /// A server of `handler`'s responses.
        ///
        /// - Parameters:
        ///   - connectionLimit: the most connections at a time.
        ///   - report: called with errno when connections can't be accepted, as often as that is tried.
        public init(
            _ handler: ControlHandler,
            connectionLimit: Int = ControlServer.connectionLimit,
            report: @escaping @Sendable (CInt) -> Void = { _ in }
        ) {
            self.handler = handler
            self.connectionLimit = connectionLimit
            self.report = report
        }

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
            let (handler, report) = (handler, report)
            let application = Application(
                responder: Responder(handler: handler),
                server: .http1(
                    configuration: .init(
                        additionalChannelHandlers: [
                            RequestHeadHandler(dropTime: TimeAmount(ControlServer.bodyTimeout)) { head in
                                handler.refusal(of: APIRequest(head)) != nil
                            }
                        ],
                        idleTimeout: ControlServer.idleTimeout
                    )
                ),
                configuration: ApplicationConfiguration(
                    address: .hostname(host, port: port),
                    availableConnectionsDelegate: MaximumAvailableConnections(connectionLimit, logger: logger)
                ),
                onServerRunning: { channel in
                    try? await channel.pipeline.addHandler(AcceptPause(report: report), position: .first).get()
                    await ready(channel.localAddress?.port ?? port)
                },
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
    }
#endif
