#if !TLS
    import NIOCore

    // Stand-ins for builds without the trait “TLS”. Every call reports that TLS is missing.

    /// TLS settings of a client, unused in a build without TLS.
    public struct TLSClientSettings: Sendable {
        /// The client certificate, sent to servers that request one.
        public var identity: TLSIdentity?
        /// Whether HTTP/2 is offered.
        public var offersHTTP2 = true

        /// Makes settings without effect.
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

    /// Why an HTTP/2 request failed, which can't happen here.
    public struct HTTP2Failure: Error, Hashable, Sendable, CustomStringConvertible {
        /// What the failure says about the request.
        public enum Kind: Hashable, Sendable {
            /// The server hasn't processed the request.
            case streamRefused
            /// The request must be sent over HTTP/1.1.
            case http1Required
            /// No conclusion.
            case other
        }

        /// Empty.
        public var description: String { "" }
        /// Always `other`.
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
        /// The maximum size of a PEM text: 1 MiB.
        public static let maximumTextSize = 1 << 20

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
