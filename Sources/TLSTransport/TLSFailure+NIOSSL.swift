#if TLS
    import HTTPTransport
    import NIOSSL

    extension NIOSSLError: TLSFailureConvertible {
        /// The failure.
        public var tlsFailure: TLSFailure {
            switch self {
            case .handshakeFailed(let cause), .shutdownFailed(let cause): cause.tlsFailure
            case .uncleanShutdown: TLSFailure(kind: .truncated, reason: "")
            case .unableToValidateCertificate, .noCertificateToValidate: TLSFailure(kind: .untrusted, reason: "")
            default: TLSFailure(kind: .protocolError, reason: String(describing: self))
            }
        }
    }

    extension NIOSSLExtraError: TLSFailureConvertible {
        /// The failure.
        public var tlsFailure: TLSFailure {
            switch self {
            case .failedToValidateHostname: TLSFailure(kind: .hostnameMismatch, reason: "")
            case .invalidSNIHostname, .serverHostnameImpossibleToMatch: TLSFailure(kind: .invalidName, reason: "")
            default: TLSFailure(kind: .protocolError, reason: String(describing: self))
            }
        }
    }

    // NIOSSL exposes the reason strings of BoringSSL; the actionable ones are mapped to kinds here.
    extension BoringSSLError: TLSFailureConvertible {
        /// The failure.
        public var tlsFailure: TLSFailure {
            switch self {
            case .sslError(let stack), .unknownError(let stack):
                BoringSSLError.failure(of: stack.first?.description ?? "")
            default: TLSFailure(kind: .protocolError, reason: "")
            }
        }

        /// Parses a text such as "Error: 268435581 error:1000007d:SSL
        /// routines:OPENSSL_internal:CERTIFICATE_VERIFY_FAILED at handshake.cc:123": the reason follows the fifth colon.
        private static func failure(of text: String) -> TLSFailure {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            let name = parts.count > 5 ? parts[5].prefix { $0 != " " } : parts.last ?? ""
            let reason = String(name.drop { $0 == " " })
            return TLSFailure(kind: kind(of: reason), reason: reason)
        }

        private static func kind(of name: String) -> TLSFailure.Kind {
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
#endif
