#if TLS
    import EventLoop
    import FaultProfile
    import HTTPTransport
    import NIOSSL
    import ProxyEngine
    import Synchronization
    import TLSTransport

    /// Makes the sessions of clients, by swift-nio-ssl.
    public final class ClientAcceptor: TLSAcceptor {
        /// The most leaves that are kept: 1,024. One more begins anew.
        public static let leafLimit = 1_024

        private struct Key: Hashable {
            let name: String?
            let terms: TLSTerms
        }

        /// Makes the certificate for a name, with a flaw; `nil` is a client that names none.
        private let identity: @Sendable (String?, CertificateFlaw?) throws -> TLSIdentity
        private let keyLog: KeyLog?
        private let contexts = Mutex<[Key: NIOSSLContext]>([:])

        /// Makes an acceptor that presents the same certificate to all, which no fault can give a flaw.
        ///
        /// - Parameters:
        ///   - identity: the certificate with its key.
        ///   - keyLog: takes the secrets of the sessions; `nil` to keep them.
        public convenience init(_ identity: TLSIdentity, keyLog: KeyLog? = nil) {
            self.init(keyLog: keyLog) { _, flaw in
                if let flaw {
                    throw TLSSettingsProblem.refused(
                        "the certificate of --tls-cert can't be made \(flaw.rawValue); leave it out for one by Squall's authority"
                    )
                }
                return identity
            }
        }

        /// Makes an acceptor with a certificate for each name.
        ///
        /// - Parameters:
        ///   - keyLog: takes the secrets of the sessions; `nil` to keep them.
        ///   - identity: makes the certificate for a name, `nil` for a client that names none, with a flaw, `nil` for none.
        ///     It is called for each name and its terms once, and again after `leafLimit` of them.
        public init(
            keyLog: KeyLog? = nil,
            _ identity: @escaping @Sendable (String?, CertificateFlaw?) throws -> TLSIdentity
        ) {
            (self.identity, self.keyLog) = (identity, keyLog)
        }

        /// See `TLSAcceptor`.
        public func accept(
            _ greeting: TLSGreeting,
            on terms: TLSTerms,
            of loop: ProxyLoop
        ) throws(TLSSessionFailure) -> any TLSSession {
            do {
                let sealer = terms.alerts ? AlertSealer() : nil
                let context = try context(Key(name: greeting.name, terms: terms), sealer)
                return try NIOSSLSession(
                    NIOSSLServerHandler(context: context),
                    on: SessionLoop.of(loop),
                    sealer: sealer
                )
            } catch {
                throw TLSSessionFailure(error)
            }
        }

        private func context(_ key: Key, _ sealer: AlertSealer?) throws -> NIOSSLContext {
            // The secrets of one session are for one sealer.
            if let sealer { return try makeContext(key, sealer) }
            return try contexts.withLock { contexts in
                if let context = contexts[key] { return context }
                let fresh = try makeContext(key, nil)
                if contexts.count == ClientAcceptor.leafLimit { contexts = [:] }
                contexts[key] = fresh
                return fresh
            }
        }

        /// See `TLSAcceptor`.
        public func check(_ file: CertificateFile) throws(TLSSessionFailure) {
            do { _ = try ClientAcceptor.identity(of: file) } catch { throw TLSSessionFailure(error) }
        }

        private static func identity(of file: CertificateFile) throws(TLSSettingsProblem) -> TLSIdentity {
            try TLSIdentity(PEMIdentity(certificates: file.content, privateKey: file.content))
        }

        private func makeContext(_ key: Key, _ sealer: AlertSealer?) throws -> NIOSSLContext {
            let own = try key.terms.identity.map { try ClientAcceptor.identity(of: $0) }
            var configuration = try (own ?? identity(key.name, key.terms.flaw)).serverConfiguration
            configuration.applicationProtocols = UpstreamConnector.encodable(key.terms.choice.map { [$0] } ?? [])
            switch key.terms.version {
            case .tls12: configuration.maximumTLSVersion = .tlsv12
            case .tls13: configuration.minimumTLSVersion = .tlsv13
            case nil: break
            }
            if sealer != nil { configuration.minimumTLSVersion = .tlsv13 }
            let write = keyLog?.callback
            if sealer != nil || write != nil {
                configuration.keyLogCallback = { line in
                    sealer?.take(line)
                    write?(line)
                }
            }
            return try NIOSSLContext(configuration: configuration)
        }
    }
#endif
