#if TLS
    import NIOCore
    import NIOSSL
    import NIOTLS
    import Synchronization

    /// How a client finds out who a server is, and what it shows of itself.
    ///
    /// The certificate of a server is always checked, with its name, and TLS is 1.2 or newer (RFC 9325).
    public struct TLSClientSettings: Sendable {
        /// The authorities that are trusted in place of the system's, if any.
        let authorities: [NIOSSLCertificate]?
        /// What servers that ask for it are shown.
        public var identity: TLSIdentity?

        /// Makes settings that trust the authorities of the system, and show nothing.
        public init() { authorities = nil }

        /// Makes settings that trust other authorities than the system does.
        ///
        /// - Parameter authorities: Their certificates in the PEM format (RFC 7468); 1 MiB at most.
        /// - Throws: A `TLSSettingsProblem`, when there is none, or one can't be read.
        public init(authorities: [UInt8]) throws(TLSSettingsProblem) {
            self.authorities = try TLSIdentity.certificates(authorities, else: .unreadableAuthorities)
        }
    }

    /// The client side of TLS: reads the authorities once, before the first connection that needs them.
    public final class TLSClient: Sendable {
        private let settings: TLSClientSettings
        private let made = Mutex<NIOSSLContext?>(nil)

        /// How long the end of a connection waits for the server's `close_notify`: 100 ms.
        static let shutdownLimit = TimeAmount.milliseconds(100)

        /// Makes a client; what is wrong with the settings is found out by `prepare()`.
        public init(_ settings: TLSClientSettings) {
            self.settings = settings
        }

        /// Reads the authorities, unless they have been.
        public func prepare() throws(TLSSettingsProblem) { _ = try context() }

        /// Puts TLS in front of all handlers of a connection to `host`, a name or an address without brackets. To be called on
        /// the loop of the channel, which is connected, and from which nothing was read.
        ///
        /// - Returns: succeeds once the server is proved; fails with a `TLSFailure`, or with what the system says.
        public func start(on channel: any Channel, to host: String) throws -> EventLoopFuture<Void> {
            let context = try context()
            // An address is no name to be sent in the clear (RFC 6066, section 3); it is looked for in the certificate.
            let name = TLSClient.isAddress(host) ? nil : host
            let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
            let promise = channel.eventLoop.makePromise(of: Void.self)
            let pipeline = channel.pipeline.syncOperations
            do {
                try pipeline.addHandler(HandshakeHandler(promise), position: .first)
                try pipeline.addHandler(FirstRecords(), position: .first)
                try pipeline.addHandler(handler, position: .first)
            } catch {
                promise.fail(error)
            }
            return promise.futureResult
        }

        private func context() throws(TLSSettingsProblem) -> NIOSSLContext {
            let result: Result<NIOSSLContext, TLSSettingsProblem> = made.withLock { made in
                if let made { return .success(made) }
                do throws(TLSSettingsProblem) {
                    let fresh = try TLSClient.makeContext(settings)
                    made = fresh
                    return .success(fresh)
                } catch {
                    return .failure(error)
                }
            }
            return try result.get()
        }

        private static func makeContext(_ settings: TLSClientSettings) throws(TLSSettingsProblem) -> NIOSSLContext {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            configuration.certificateVerification = .fullVerification
            configuration.applicationProtocols = ["http/1.1"]
            configuration.shutdownTimeout = shutdownLimit
            if let authorities = settings.authorities {
                configuration.trustRoots = .certificates(authorities)
            }
            if let identity = settings.identity {
                configuration.certificateChain = identity.sources
                configuration.privateKey = .privateKey(identity.key)
            }
            do {
                return try NIOSSLContext(configuration: configuration)
            } catch {
                throw TLSSettingsProblem(error)
            }
        }

        /// Whether a host is an IP address, which may have a zone behind a percent sign.
        static func isAddress(_ host: String) -> Bool {
            (try? SocketAddress(ipAddress: String(host.prefix { $0 != "%" }), port: 0)) != nil
        }
    }

    /// Says when the handshake of a fresh connection has ended, and reads until then, for nobody else does.
    private final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer

        private let promise: EventLoopPromise<Void>

        init(_ promise: EventLoopPromise<Void>) {
            self.promise = promise
        }

        func handlerAdded(context: ChannelHandlerContext) { context.read() }

        func channelReadComplete(context: ChannelHandlerContext) {
            context.fireChannelReadComplete()
            context.read()
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
                promise.succeed()
                context.pipeline.syncOperations.removeHandler(self, promise: nil)
            }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(TLSFailure(error) ?? error)
            context.fireErrorCaught(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
            context.fireChannelInactive()
        }

        func handlerRemoved(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
        }
    }
#endif
