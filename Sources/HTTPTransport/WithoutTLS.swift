#if !TLS
    import NIOCore

    // A build without the trait “TLS” has these types in place of the real ones. Every call reports that TLS is missing.

    /// How a client finds out who a server is; a build without TLS can't.
    public struct TLSClientSettings: Sendable {
        /// What servers that ask for it are shown.
        public var identity: TLSIdentity?

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
        public func start(on channel: any Channel, to host: String) throws -> EventLoopFuture<Void> {
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
        public init(_ identity: TLSIdentity) throws(TLSSettingsProblem) { throw .unavailable }

        /// - Throws: a `TLSFailure` of the kind `unavailable`.
        public func start(on channel: any Channel) throws { throw TLSFailure(kind: .unavailable, reason: "") }
    }
#endif
