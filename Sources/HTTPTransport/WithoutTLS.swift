#if !TLS
    import NIOCore

    // A build without the trait “TLS” has these types in place of the real ones. Every call reports that TLS is missing.

    /// How a client finds out who a server is; a build without TLS can't.
    public struct TLSClientSettings: Sendable {
        /// What servers that ask for it are shown.
        public var identity: TLSIdentity?
        /// Whether HTTP/2 is spoken with servers that know it.
        public var offersHTTP2 = true

        /// Makes settings of which nothing comes.
        public init() {}

        /// - Throws: `TLSSettingsProblem.unavailable`.
        public init(authorities: [UInt8]) throws(TLSSettingsProblem) { throw .unavailable }
    }

    /// The client side of TLS, which this build doesn't have.
    public final class TLSClient: Sendable {
        /// Makes a client that can't start.
        public init(_ settings: TLSClientSettings) {}

        /// - Throws: `TLSSettingsProblem.unavailable`.
        public func prepare() throws(TLSSettingsProblem) { throw .unavailable }

        /// - Throws: a `TLSFailure` of the kind `unavailable`.
        public func start(
            on channel: any Channel,
            to host: String,
            offersHTTP2: Bool = true
        ) throws -> EventLoopFuture<HTTPProtocol> {
            throw TLSFailure(kind: .unavailable, reason: "")
        }
    }

    /// HTTP/2, which a build without TLS doesn't have.
    public enum HTTP2Client {
        /// - Returns: a failure.
        public static func openStream(
            on connection: any Channel,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) -> EventLoopFuture<any Channel> {
            connection.eventLoop.makeFailedFuture(TLSFailure(kind: .unavailable, reason: ""))
        }
    }

    /// Why an exchange by HTTP/2 ended early, which can't happen here.
    public struct HTTP2Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What the failure tells of the request.
        public enum Kind: Hashable, Sendable {
            /// The server has processed nothing of it.
            case streamRefused
            /// The server wants the request by HTTP/1.1.
            case http1Required
            /// Nothing.
            case other
        }

        /// Nothing.
        public var description: String { "" }
        /// Nothing.
        public var kind: Kind { .other }

        /// `nil`.
        public init?(_ error: any Error) { return nil }
    }

    /// HTTP/2, which a build without TLS doesn't have.
    public enum HTTP2Server {
        /// The limits of a connection.
        public struct Limits: Sendable {
            /// Makes the limits.
            public init(streams: Int, headBytes: Int, window: Int, idleTimeout: TimeAmount) {}
        }

        /// - Throws: a `TLSFailure` of the kind `unavailable`.
        public static func start(
            on connection: any Channel,
            _ limits: Limits,
            _ initialize: @escaping @Sendable (any Channel) throws -> Void
        ) throws {
            throw TLSFailure(kind: .unavailable, reason: "")
        }
    }

    /// A certificate and its key, which this build can't read.
    public struct TLSIdentity: Sendable, CustomStringConvertible {
        /// The longest text that is read as certificates or as a key: 1 MiB.
        public static let longestText = 1 << 20

        /// - Throws: `TLSSettingsProblem.unavailable`.
        public init(certificates: [UInt8], privateKey: [UInt8]) throws(TLSSettingsProblem) { throw .unavailable }

        /// The name of the type.
        public var description: String { "TLSIdentity" }
    }

    /// The server side of TLS, which this build doesn't have.
    public struct TLSServer: Sendable {
        /// - Throws: `TLSSettingsProblem.unavailable`.
        public init(_ identity: TLSIdentity, offersHTTP2: Bool = true) throws(TLSSettingsProblem) { throw .unavailable }

        /// - Throws: a `TLSFailure` of the kind `unavailable`.
        public func start(on channel: any Channel) throws -> EventLoopFuture<HTTPProtocol> {
            throw TLSFailure(kind: .unavailable, reason: "")
        }
    }
#endif
