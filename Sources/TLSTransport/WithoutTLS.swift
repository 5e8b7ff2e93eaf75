#if !TLS
    import HTTPTransport
    import NIOCore

    // Stand-ins for builds without the trait “TLS”: every call reports that TLS is missing.

    /// TLS settings of a client, without effect.
    public struct TLSClientSettings: Sendable {
        /// The client certificate.
        public var identity: TLSIdentity?

        /// Makes settings without effect.
        public init() {}

        /// - Throws: `TLSSettingsProblem.unavailable`.
        public init(authorities: [UInt8]) throws(TLSSettingsProblem) { throw .unavailable }
    }

    /// The client side of TLS, which this build doesn't have.
    public struct TLSClient: ClientTLS {
        /// Makes a client that can't start.
        public init(_ settings: TLSClientSettings) {}

        /// See `ClientTLS`.
        public func prepare() throws(TLSSettingsProblem) { throw .unavailable }

        /// See `ClientTLS`.
        public func start(
            on channel: any Channel,
            to host: String,
            offersHTTP2: Bool
        ) throws -> EventLoopFuture<HTTPProtocol> {
            throw TLSFailure(kind: .unavailable, reason: "")
        }

        /// See `ClientTLS`.
        public func openStream(
            on connection: any Channel,
            isLast: Bool,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) -> EventLoopFuture<any Channel> {
            connection.eventLoop.makeFailedFuture(TLSFailure(kind: .unavailable, reason: ""))
        }
    }

    /// A certificate and its key, which this build can't read.
    public struct TLSIdentity: Sendable {
        /// - Throws: `TLSSettingsProblem.unavailable`.
        public init(_ identity: PEMIdentity) throws(TLSSettingsProblem) { throw .unavailable }
    }
#endif
