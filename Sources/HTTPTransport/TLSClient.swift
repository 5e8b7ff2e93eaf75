#if TLS
    import NIOCore
    import NIOSSL
    import Synchronization

    /// How a client finds out who a server is, and what it shows of itself.
    ///
    /// The certificate of a server is always checked, with its name, and TLS is 1.2 or newer (RFC 9325).
    public struct TLSClientSettings: Sendable {
        /// The authorities that are trusted in place of the system's, if any.
        let authorities: [NIOSSLCertificate]?
        /// What servers that ask for it are shown.
        public var identity: TLSIdentity?
        /// Whether HTTP/2 is spoken with servers that know it.
        public var offersHTTP2 = true

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
        /// The contexts that were made, by whether they offer HTTP/2: two at most.
        private let made = Mutex<[Bool: NIOSSLContext]>([:])

        /// How long the end of a connection waits for the server's `close_notify`: 100 ms.
        static let shutdownLimit = TimeAmount.milliseconds(100)

        /// Makes a client; what is wrong with the settings is found out by `prepare()`.
        public init(_ settings: TLSClientSettings) {
            self.settings = settings
        }

        /// Reads the authorities, unless they have been.
        public func prepare() throws(TLSSettingsProblem) { _ = try context(offersHTTP2: settings.offersHTTP2) }

        /// Puts TLS in front of all handlers of a connection to `host`, a name or an address without brackets. To be called on
        /// the loop of the channel, which is connected, and from which nothing was read.
        ///
        /// - Parameter offersHTTP2: Whether HTTP/2 is offered where the settings offer it.
        /// - Returns: what the server wants to speak, once it is proved, on the loop and before anything else has arrived; or a
        ///   `TLSFailure`, or what the system says.
        public func start(
            on channel: any Channel,
            to host: String,
            offersHTTP2: Bool = true
        ) throws -> EventLoopFuture<HTTPProtocol> {
            let context = try context(offersHTTP2: offersHTTP2 && settings.offersHTTP2)
            // An address is no name to be sent in the clear (RFC 6066, section 3); it is looked for in the certificate.
            let name = TLSClient.isAddress(host) ? nil : host
            let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
            let promise = channel.eventLoop.makePromise(of: HTTPProtocol.self)
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

        private func context(offersHTTP2: Bool) throws(TLSSettingsProblem) -> NIOSSLContext {
            let result: Result<NIOSSLContext, TLSSettingsProblem> = made.withLock { made in
                if let context = made[offersHTTP2] { return .success(context) }
                do throws(TLSSettingsProblem) {
                    let fresh = try TLSClient.makeContext(settings, offersHTTP2: offersHTTP2)
                    made[offersHTTP2] = fresh
                    return .success(fresh)
                } catch {
                    return .failure(error)
                }
            }
            return try result.get()
        }

        private static func makeContext(
            _ settings: TLSClientSettings,
            offersHTTP2: Bool
        ) throws(TLSSettingsProblem) -> NIOSSLContext {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            configuration.certificateVerification = .fullVerification
            configuration.applicationProtocols = HTTPProtocol.names(offersHTTP2: offersHTTP2)
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
#endif
