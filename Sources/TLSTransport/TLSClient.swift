#if TLS
    import HTTPTransport
    import NIOCore
    import NIOSSL
    import Synchronization

    /// The TLS settings of a client: trusted authorities and its own certificate.
    ///
    /// Server certificates and host names are always verified, with TLS 1.2 or newer (RFC 9325).
    public struct TLSClientSettings: Sendable {
        /// The trusted authorities; `nil` for those of the system.
        let authorities: [NIOSSLCertificate]?
        /// The client certificate, sent to servers that request one.
        public var identity: TLSIdentity?
        /// Whether HTTP/2 is offered.
        public var offersHTTP2 = true

        /// Makes settings that trust the system's authorities, without a client certificate.
        public init() { authorities = nil }

        /// Makes settings that trust the given authorities instead of the system's.
        ///
        /// - Parameter authorities: Their certificates in PEM format (RFC 7468); at most 1 MiB.
        /// - Throws: A `TLSSettingsProblem` when there is none, or one can't be parsed.
        public init(authorities: [UInt8]) throws(TLSSettingsProblem) {
            self.authorities = try TLSIdentity.certificates(authorities, else: .unreadableAuthorities)
        }

        /// The configuration of the library, without ALPN.
        package var configuration: TLSConfiguration {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            configuration.certificateVerification = .fullVerification
            if let authorities { configuration.trustRoots = .certificates(authorities) }
            if let identity {
                configuration.certificateChain = identity.sources
                configuration.privateKey = .privateKey(identity.key)
            }
            return configuration
        }

        /// The context of a configuration.
        package static func context(_ configuration: TLSConfiguration) throws(TLSSettingsProblem) -> NIOSSLContext {
            do {
                return try NIOSSLContext(configuration: configuration)
            } catch {
                throw TLSSettingsProblem(error)
            }
        }
    }

    /// The client side of TLS. Loads the authorities once, before the first connection that needs them.
    public final class TLSClient: ClientTLS {
        private let settings: TLSClientSettings
        /// The contexts by whether they offer HTTP/2: at most two.
        private let contexts = Mutex<[Bool: NIOSSLContext]>([:])

        /// How long closing a connection waits for the server's `close_notify`: 100 ms.
        static let shutdownLimit = TimeAmount.milliseconds(100)

        /// Makes a client; `prepare()` reports invalid settings.
        public init(_ settings: TLSClientSettings) { self.settings = settings }

        /// See `ClientTLS`.
        public func prepare() throws(TLSSettingsProblem) { _ = try context(offersHTTP2: settings.offersHTTP2) }

        /// See `ClientTLS`.
        public func start(
            on channel: any Channel,
            to host: String,
            offersHTTP2: Bool
        ) throws -> EventLoopFuture<HTTPProtocol> {
            let context = try context(offersHTTP2: offersHTTP2 && settings.offersHTTP2)
            // An IP address isn't sent as SNI (RFC 6066, section 3); it is verified against the certificate.
            let name = TLSClient.isAddress(host) ? nil : host
            let handler = try NIOSSLClientHandler.verifying(context, name)
            let promise = channel.eventLoop.makePromise(of: HTTPProtocol.self)
            let pipeline = channel.pipeline.syncOperations
            do {
                try pipeline.addHandler(HandshakeHandler(promise), position: .first)
                try pipeline.addHandler(DynamicRecordSizing(), position: .first)
                try pipeline.addHandler(handler, position: .first)
            } catch {
                promise.fail(error)
            }
            return promise.futureResult
        }

        /// See `ClientTLS`.
        public func openStream(
            on connection: any Channel,
            isLast: Bool,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) -> EventLoopFuture<any Channel> { HTTP2Client.openStream(on: connection, isLast: isLast, initialize) }

        private func context(offersHTTP2: Bool) throws(TLSSettingsProblem) -> NIOSSLContext {
            try contexts.withLock { contexts throws(TLSSettingsProblem) in
                if let context = contexts[offersHTTP2] { return context }
                let fresh = try TLSClient.makeContext(settings, offersHTTP2: offersHTTP2)
                contexts[offersHTTP2] = fresh
                return fresh
            }
        }

        private static func makeContext(
            _ settings: TLSClientSettings,
            offersHTTP2: Bool
        ) throws(TLSSettingsProblem) -> NIOSSLContext {
            var configuration = settings.configuration
            configuration.applicationProtocols = HTTPProtocol.names(offersHTTP2: offersHTTP2)
            configuration.shutdownTimeout = shutdownLimit
            return try TLSClientSettings.context(configuration)
        }

        /// Whether a host is an IP address, optionally with a zone after a percent sign.
        static func isAddress(_ host: String) -> Bool {
            (try? SocketAddress(ipAddress: String(host.prefix { $0 != "%" }), port: 0)) != nil
        }
    }
#endif
