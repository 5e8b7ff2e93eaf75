#if TLS
    import HTTPTransport
    import NIOSSL

    /// A certificate with its chain, and its private key.
    public struct TLSIdentity: Sendable {
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey

        /// Parses the texts.
        ///
        /// - Throws: A `TLSSettingsProblem` when one can't be parsed, or when the key doesn't match the certificate.
        public init(_ identity: PEMIdentity) throws(TLSSettingsProblem) {
            chain = try TLSIdentity.certificates(identity.certificates, else: .unreadableCertificate)
            do {
                // Without a passphrase callback NIOSSL would prompt on the terminal.
                key = try NIOSSLPrivateKey(bytes: identity.privateKey, format: .pem) { $0([UInt8]()) }
            } catch {
                throw .unreadableKey
            }
            _ = try TLSServer.context(self, offersHTTP2: false)
        }

        /// Whether the validity of the certificate has ended at a time, in seconds since 1970.
        package func hasExpired(at time: Int) -> Bool { chain.first.map { $0.notValidAfter < time } ?? false }

        static func certificates(
            _ text: [UInt8],
            else problem: TLSSettingsProblem
        ) throws(TLSSettingsProblem) -> [NIOSSLCertificate] {
            guard text.count <= PEMIdentity.maximumTextSize, let found = try? NIOSSLCertificate.fromPEMBytes(text),
                !found.isEmpty
            else {
                throw problem
            }
            return found
        }

        /// The configuration of a server that presents it, without ALPN.
        package var serverConfiguration: TLSConfiguration {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: sources,
                privateKey: .privateKey(key)
            )
            configuration.minimumTLSVersion = .tlsv12
            return configuration
        }

        /// The chain in NIOSSL's form.
        var sources: [NIOSSLCertificateSource] { chain.map { .certificate($0) } }
    }

    extension TLSIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// The number of certificates; nothing of the key.
        public var description: String { "TLSIdentity(\(chain.count) certificates)" }
        /// The same.
        public var debugDescription: String { description }
        /// No children, so that dumps don't show the key.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    extension TLSSettingsProblem {
        /// Converts an error of NIOSSL.
        init(_ error: any Error) {
            // Both were parsed before.
            switch error {
            case NIOSSLError.failedToLoadPrivateKey: self = .keyMismatch
            case NIOSSLError.failedToLoadCertificate:
                self = .refused(
                    "the certificate isn't for servers or clients, such as an authority's, which signs others"
                )
            default: self = .refused(TLSFailure(error)?.description ?? "\(error)")
            }
        }
    }
#endif
