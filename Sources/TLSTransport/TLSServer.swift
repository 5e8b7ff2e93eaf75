#if TLS
    import HTTPTransport
    import NIOCore
    import NIOSSL

    /// The server side of TLS, for any number of connections.
    public struct TLSServer: ServerTLS {
        private let context: NIOSSLContext

        /// How long closing a connection waits for the client's `close_notify`: 1 s.
        static let shutdownLimit = TimeAmount.seconds(1)

        /// Makes a server that presents `identity`.
        ///
        /// - Parameter offersHTTP2: Whether HTTP/2 is offered.
        public init(_ identity: TLSIdentity, offersHTTP2: Bool = true) throws(TLSSettingsProblem) {
            context = try TLSServer.context(identity, offersHTTP2: offersHTTP2)
        }

        /// See `ServerTLS`.
        public func start(on channel: any Channel) throws -> EventLoopFuture<HTTPProtocol> {
            let promise = channel.eventLoop.makePromise(of: HTTPProtocol.self)
            let pipeline = channel.pipeline.syncOperations
            do {
                try pipeline.addHandler(PlainRequestHandler())
                try pipeline.addHandler(NIOSSLServerHandler(context: context))
                try pipeline.addHandler(DynamicRecordSizing())
                try pipeline.addHandler(HandshakeHandler(promise))
            } catch {
                promise.fail(error)
                throw error
            }
            return promise.futureResult
        }

        /// See `ServerTLS`.
        public func startHTTP2(
            on connection: any Channel,
            _ limits: HTTP2Limits,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) throws {
            try HTTP2Server.start(on: connection, limits, initialize)
        }

        static func context(
            _ identity: TLSIdentity,
            offersHTTP2: Bool
        ) throws(TLSSettingsProblem) -> NIOSSLContext {
            var configuration = identity.serverConfiguration
            configuration.applicationProtocols = HTTPProtocol.names(offersHTTP2: offersHTTP2)
            configuration.shutdownTimeout = shutdownLimit
            return try TLSClientSettings.context(configuration)
        }
    }
#endif
