#if TLS
    import NIOSSL
#endif

/// A failure of TLS.
///
/// NIOSSL exposes the reason strings of BoringSSL; the actionable ones are mapped to kinds here.
public struct TLSFailure: Error, Hashable, Sendable {
    /// The kinds of failure.
    public enum Kind: Hashable, Sendable {
        /// The server's certificate isn't signed by a trusted authority, or has expired.
        case untrusted
        /// The server's certificate is for other host names.
        case hostnameMismatch
        /// The server requires a client certificate, or rejects the one it got.
        case clientCertificate
        /// The peer rejected the handshake: no common version or cipher, or, before TLS 1.3, a missing client
        /// certificate.
        case handshakeRefused
        /// The stream ended without a `close_notify`, so its end may be a truncation (RFC 8446, section 6.1).
        case truncated
        /// Anything else, such as corrupted records or a server without TLS.
        case protocolError
        /// This build has no TLS.
        case unavailable
    }

    /// The kind of failure.
    public let kind: Kind
    /// The library's reason, such as `WRONG_VERSION_NUMBER`; empty if there is none.
    public let reason: String

    /// Whether a new connection would fail the same way.
    public var isFinal: Bool {
        switch kind {
        case .untrusted, .hostnameMismatch, .clientCertificate, .handshakeRefused, .unavailable: true
        case .truncated, .protocolError: false
        }
    }

    init(kind: Kind, reason: String) {
        self.kind = kind
        self.reason = reason
    }
}

#if TLS
    extension TLSFailure {
        /// Converts an error of a channel; `nil` if it isn't from TLS.
        public init?(_ error: any Error) {
            switch error {
            case let error as TLSFailure: self = error
            case let error as NIOSSLError: self.init(error)
            case let error as BoringSSLError: self.init(error)
            case let error as NIOSSLExtraError:
                self.init(kind: error == .failedToValidateHostname ? .hostnameMismatch : .protocolError, reason: "")
            default: return nil
            }
        }

        private init(_ error: NIOSSLError) {
            switch error {
            case .handshakeFailed(let cause), .shutdownFailed(let cause): self.init(cause)
            case .uncleanShutdown: self.init(kind: .truncated, reason: "")
            case .unableToValidateCertificate, .noCertificateToValidate: self.init(kind: .untrusted, reason: "")
            default: self.init(kind: .protocolError, reason: String(describing: error))
            }
        }

        private init(_ error: BoringSSLError) {
            switch error {
            case .sslError(let stack), .unknownError(let stack): self.init(stack.first?.description ?? "")
            default: self.init(kind: .protocolError, reason: "")
            }
        }

        /// Parses a text such as "Error: 268435581 error:1000007d:SSL
        /// routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at handshake.cc:123": the reason follows the fifth
        /// colon.
        private init(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            let name = parts.count > 5 ? parts[5].prefix { $0 != " " } : parts.last ?? ""
            let reason = String(name.drop { $0 == " " })
            self.init(kind: TLSFailure.kind(of: reason), reason: reason)
        }

        private static func kind(of name: String) -> Kind {
            switch name {
            case "CERTIFICATE_VERIFY_FAILED": .untrusted
            case "TLSV1_ALERT_UNKNOWN_CA", "TLSV1_CERTIFICATE_REQUIRED", "TLSV1_ALERT_CERTIFICATE_REQUIRED",
                "SSLV3_ALERT_BAD_CERTIFICATE", "SSLV3_ALERT_CERTIFICATE_EXPIRED", "SSLV3_ALERT_CERTIFICATE_REVOKED",
                "SSLV3_ALERT_CERTIFICATE_UNKNOWN", "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "TLSV1_ALERT_ACCESS_DENIED":
                .clientCertificate
            case "TLSV1_ALERT_PROTOCOL_VERSION", "SSLV3_ALERT_HANDSHAKE_FAILURE", "UNSUPPORTED_PROTOCOL",
                "TLSV1_ALERT_INSUFFICIENT_SECURITY", "NO_SHARED_CIPHER", "TLSV1_ALERT_NO_APPLICATION_PROTOCOL":
                .handshakeRefused
            default: .protocolError
            }
        }
    }
#else
    extension TLSFailure {
        /// Converts an error of a channel; `nil` if it isn't from TLS.
        public init?(_ error: any Error) {
            guard let error = error as? TLSFailure else { return nil }
            self = error
        }
    }
#endif

extension TLSFailure: CustomStringConvertible {
    /// The failure as a clause.
    public var description: String {
        switch kind {
        case .untrusted: "the server's certificate isn't signed by an authority that is trusted here, or is out of date"
        case .hostnameMismatch: "the server's certificate is for another name"
        case .clientCertificate: "the server refuses the client's certificate, or its absence (\(reason))"
        case .handshakeRefused:
            "the server refuses the handshake: for its versions and ciphers, or for want of a certificate (\(reason))"
        case .truncated: "it was closed without the end that TLS has"
        case .unavailable: "this build has no TLS"
        case .protocolError where reason == "WRONG_VERSION_NUMBER": "what came isn't TLS (\(reason))"
        case .protocolError: reason.isEmpty ? "TLS failed" : "TLS failed: \(reason)"
        }
    }
}
