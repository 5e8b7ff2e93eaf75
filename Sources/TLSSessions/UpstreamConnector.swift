#if TLS
    import EventLoop
    import HTTPTransport
    import NIOCore
    import NIOSSL
    import ProxyEngine
    import Synchronization
    import TLSTransport

    /// Makes sessions with upstreams, by swift-nio-ssl. The certificate and the name are always verified.
    public final class UpstreamConnector: TLSConnector {
        /// The most contexts that are kept, one for each list of protocols: 64.
        private static let contextLimit = 64
        /// The groups that are offered, one with its key: another one costs a tenth of a handshake.
        private static let groups: [NIOTLSCurve] = [.x25519, .secp256r1, .secp384r1]

        private let settings: TLSClientSettings
        private let keyLog: KeyLog?
        private let contexts = Mutex<[[String]: NIOSSLContext]>([:])

        /// Makes a connector.
        ///
        /// - Parameters:
        ///   - settings: the trusted authorities and the client certificate.
        ///   - keyLog: takes the secrets of the sessions; `nil` to keep them.
        /// - Throws: a `TLSSettingsProblem` if the settings can't be used.
        public init(_ settings: TLSClientSettings, keyLog: KeyLog? = nil) throws(TLSSettingsProblem) {
            (self.settings, self.keyLog) = (settings, keyLog)
            _ = try context([])
        }

        /// See `TLSConnector`.
        public func connect(
            to host: String,
            offering protocols: [String],
            on loop: ProxyLoop
        ) throws(TLSSessionFailure) -> any TLSSession {
            do {
                // An address isn't sent as a name (RFC 6066, section 3); it is verified against the certificate.
                let address = try? SocketAddress(ipAddress: String(host.prefix { $0 != "%" }), port: 0)
                let name = address == nil ? String(host[...].withoutFinalDot) : nil
                let handler = try NIOSSLClientHandler.verifying(context(protocols), name)
                return try NIOSSLSession(handler, on: SessionLoop.of(loop), peer: address)
            } catch {
                throw TLSSessionFailure(error)
            }
        }

        /// The protocols without those that end the process in the library.
        static func encodable(_ protocols: [String]) -> [String] {
            protocols.filter { (1...255).contains($0.utf8.count) && $0.utf8.allSatisfy { $0 < 0x80 } }
        }

        private func context(_ offered: [String]) throws(TLSSettingsProblem) -> NIOSSLContext {
            let protocols = UpstreamConnector.encodable(offered)
            return try contexts.withLock { contexts throws(TLSSettingsProblem) in
                if let context = contexts[protocols] { return context }
                var configuration = settings.configuration
                configuration.applicationProtocols = protocols
                configuration.curves = UpstreamConnector.groups
                configuration.keyLogCallback = keyLog?.callback
                let fresh = try TLSClientSettings.context(configuration)
                if contexts.count == UpstreamConnector.contextLimit { contexts = [:] }
                contexts[protocols] = fresh
                return fresh
            }
        }
    }
#endif
