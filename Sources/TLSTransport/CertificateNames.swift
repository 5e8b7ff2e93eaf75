#if TLS
    import NIOCore
    import NIOSSL

    extension NIOSSLCertificate {
        /// Whether the certificate is for a DNS name (RFC 9525, section 6.3): one of its alternative names is equal, or has
        /// `*` in place of the first label. A certificate without alternative names matches: the library compares its subject.
        func names(_ host: String) -> Bool {
            let alternatives = _subjectAlternativeNames()
            let host = Substring(host.lowercased()).withoutFinalDot
            return alternatives.isEmpty
                || alternatives.contains { alternative in
                    guard alternative.nameType == .dnsName else { return false }
                    let name = Substring(String(decoding: alternative.contents, as: UTF8.self).lowercased())
                        .withoutFinalDot
                    return name == host || name.hasPrefix("*.") && name.dropFirst() == host.drop { $0 != "." }
                }
        }
    }

    extension NIOSSLClientHandler {
        /// A handler that verifies the certificate of a server.
        ///
        /// - Parameter name: The DNS name that it must be for; `nil` for the address of the connection. The library by itself
        ///   takes that address in place of a name.
        package static func verifying(_ context: NIOSSLContext, _ name: String?) throws -> NIOSSLClientHandler {
            guard let name else { return try NIOSSLClientHandler(context: context, serverHostname: nil) }
            return try _makeSSLClientHandler(context: context, serverHostname: name) { certificate, channel in
                certificate.names(name)
                    ? channel.eventLoop.makeSucceededVoidFuture()
                    : channel.eventLoop.makeFailedFuture(NIOSSLExtraError.failedToValidateHostname)
            }
        }
    }

    extension Substring {
        /// A name of DNS as certificates and `server_name` have it (RFC 6066, section 3).
        package var withoutFinalDot: Substring { hasSuffix(".") ? dropLast() : self }
    }
#endif
