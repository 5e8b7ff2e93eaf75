/// Why certificates or a key can't be used.
public enum TLSSettingsProblem: Error, Hashable, Sendable {
    /// There is no certificate of an authority in the PEM format, or a part of it can't be read.
    case unreadableAuthorities
    /// The same of the certificate to be shown.
    case unreadableCertificate
    /// There is no private key in the PEM format, or it needs a passphrase.
    case unreadableKey
    /// The private key isn't that of the certificate.
    case otherKey
    /// This build has no TLS.
    case unavailable
    /// The library refuses the settings.
    case refused(String)
}

extension TLSSettingsProblem: CustomStringConvertible {
    /// What is wrong, and what is needed.
    public var description: String {
        switch self {
        case .unreadableAuthorities: "there are no certificates in the PEM format"
        case .unreadableCertificate: "there is no certificate in the PEM format"
        case .unreadableKey: "there is no private key in the PEM format, or it has a passphrase; give one without"
        case .otherKey: "the private key isn't the one of the certificate"
        case .unavailable: "this build has no TLS"
        case .refused(let words): words
        }
    }
}
