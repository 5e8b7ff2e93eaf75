/// Why certificates or a key can't be used.
public enum TLSSettingsProblem: Error, Hashable, Sendable {
    /// No authority certificate in PEM format, or one can't be parsed.
    case unreadableAuthorities
    /// No certificate in PEM format, or one can't be parsed.
    case unreadableCertificate
    /// No private key in PEM format, or it needs a passphrase.
    case unreadableKey
    /// The private key doesn't match the certificate.
    case keyMismatch
    /// This build has no TLS.
    case unavailable
    /// NIOSSL rejected the settings.
    case refused(String)
}

extension TLSSettingsProblem: CustomStringConvertible {
    /// The problem as a clause.
    public var description: String {
        switch self {
        case .unreadableAuthorities: "there are no certificates in the PEM format"
        case .unreadableCertificate: "there is no certificate in the PEM format"
        case .unreadableKey: "there is no private key in the PEM format, or it has a passphrase; give one without"
        case .keyMismatch: "the private key isn't the one of the certificate"
        case .unavailable: "this build has no TLS"
        case .refused(let words): words
        }
    }
}
