#if TLS
    import NIOCore
    import NIOSSL

    /// The server side of TLS, for any number of connections.
    public struct TLSServer: Sendable {
        private let context: NIOSSLContext

        /// How long the end of a connection waits for the client's `close_notify`: 1 s.
        static let shutdownLimit = TimeAmount.seconds(1)

        /// Makes a server that shows `identity`.
        public init(_ identity: TLSIdentity) throws(TLSSettingsProblem) {
            context = try TLSServer.context(identity)
        }

        /// Puts TLS into the pipeline of a fresh connection. To be called on the loop of the channel, before its other handlers
        /// are added.
        public func start(on channel: any Channel) throws {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(NIOSSLServerHandler(context: context))
            try pipeline.addHandler(FirstRecords())
        }

        static func context(_ identity: TLSIdentity) throws(TLSSettingsProblem) -> NIOSSLContext {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: identity.sources,
                privateKey: .privateKey(identity.key)
            )
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = ["http/1.1"]
            configuration.shutdownTimeout = shutdownLimit
            do {
                return try NIOSSLContext(configuration: configuration)
            } catch {
                throw TLSSettingsProblem(error)
            }
        }
    }
#endif
