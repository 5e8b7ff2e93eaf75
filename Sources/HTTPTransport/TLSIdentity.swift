#if TLS
    import NIOSSL

    /// A certificate with its chain, and the private key that belongs to it.
    public struct TLSIdentity: Sendable {
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey

        /// The longest text that is read as certificates or as a key: 1 MiB.
        public static let longestText = 1 << 20

        /// Reads both in the PEM format (RFC 7468).
        ///
        /// - Parameters:
        ///   - certificates: The certificate, and behind it those of its issuers, except for the root.
        ///   - privateKey: The key, without a passphrase.
        /// - Throws: A `TLSSettingsProblem`, when either can't be read, or when they don't belong together.
        public init(certificates: [UInt8], privateKey: [UInt8]) throws(TLSSettingsProblem) {
            chain = try TLSIdentity.certificates(certificates, else: .unreadableCertificate)
            do {
                // Without an answer to the question for a passphrase the terminal would be asked.
                key = try NIOSSLPrivateKey(bytes: privateKey, format: .pem) { $0([UInt8]()) }
            } catch {
                throw .unreadableKey
            }
            _ = try TLSServer.context(self, offersHTTP2: false)
        }

        static func certificates(
            _ text: [UInt8],
            else problem: TLSSettingsProblem
        ) throws(TLSSettingsProblem) -> [NIOSSLCertificate] {
            guard text.count <= longestText, let found = try? NIOSSLCertificate.fromPEMBytes(text), !found.isEmpty
            else {
                throw problem
            }
            return found
        }

        /// The chain in the form that NIOSSL takes.
        var sources: [NIOSSLCertificateSource] { chain.map { .certificate($0) } }
    }

    extension TLSIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        /// How many certificates there are; nothing of the key.
        public var description: String { "TLSIdentity(\(chain.count) certificates)" }
        /// The same.
        public var debugDescription: String { description }
        /// Without children: a dump shows no key.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    extension TLSSettingsProblem {
        /// What NIOSSL says when it is given settings.
        init(_ error: any Error) {
            // The key could be read before, so what keeps it from being loaded is the certificate.
            if case NIOSSLError.failedToLoadPrivateKey = error {
                self = .otherKey
            } else {
                self = .refused(TLSFailure(error)?.description ?? "\(error)")
            }
        }
    }
#endif
