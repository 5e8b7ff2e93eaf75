import FoundationEssentials
import HTTPTransport

/// A self-signed certificate authority for tests and demonstrations. Its key is never written to disk.
public struct DevelopmentCA: Sendable {
    /// The certificate of the authority in PEM format (RFC 7468), for clients to trust.
    public let certificate: String

    private let key: String
    private let validity: Range<Date>

    /// The validity of certificates: 7 days. It starts an hour in the past to tolerate clock skew.
    public static let lifetime: TimeInterval = 7 * 86_400

    /// Creates an authority.
    ///
    /// - Parameter now: The time from which the certificates are valid.
    public init(now: Date = Date()) throws {
        validity = now.addingTimeInterval(-3_600)..<now.addingTimeInterval(Self.lifetime)
        key = try CertificateText.key()
        certificate = try CertificateText.certificate(
            organization: "Squall",
            commonName: Self.label(),
            validity: validity,
            pathLength: 0,
            key: key,
            issuerKey: key
        )
    }

    /// A certificate and its key for `hosts`: names, and numeric addresses without brackets.
    public func identity(for hosts: [String]) throws -> PEMIdentity {
        let texts = try texts(for: hosts)
        return PEMIdentity(certificates: Array(texts.certificate.utf8), privateKey: Array(texts.key.utf8))
    }

    /// The same as PEM text.
    public func texts(for hosts: [String]) throws -> (certificate: String, key: String) {
        let own = try CertificateText.key()
        let made = try CertificateText.certificate(
            commonName: Self.commonName(of: hosts),
            validity: validity,
            usage: "serverAuth,clientAuth",
            names: hosts,
            key: own,
            issuer: certificate,
            issuerKey: key
        )
        return (made, own)
    }

    /// A name that distinguishes an authority from others in a certificate store.
    static func label() -> String { "Squall authority \(String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16))" }

    /// The name of the subject of a certificate for `hosts`, of at most 64 characters (RFC 5280, appendix A.1). That of an
    /// address is no name of DNS: OpenSSL would apply an authority's constraints of names to it.
    static func commonName(of hosts: [String]) -> String {
        guard let host = hosts.first else { return "nobody" }
        return CertificateText.isAddress(host) ? "Squall \(host)" : String(host.prefix(64))
    }
}
