import Crypto
import FoundationEssentials
import HTTPTransport
import NIOCore
import SwiftASN1
import X509

/// A self-signed certificate authority for tests and demonstrations. Its key is never written to disk.
public struct DevelopmentCA: Sendable {
    /// The certificate of the authority in PEM format (RFC 7468), for clients to trust.
    public let certificate: String

    private let name: DistinguishedName
    private let key: P256.Signing.PrivateKey
    private let validity: Range<Date>

    /// The validity of certificates: 7 days. It starts an hour in the past to tolerate clock skew.
    public static let lifetime: TimeInterval = 7 * 86_400

    /// Creates an authority.
    ///
    /// - Parameter now: The time from which the certificates are valid.
    public init(now: Date = Date()) throws {
        validity = now.addingTimeInterval(-3_600)..<now.addingTimeInterval(Self.lifetime)
        let key = P256.Signing.PrivateKey()
        // The serial number distinguishes two authorities in a certificate store.
        let serialNumber = Certificate.SerialNumber()
        let name = try DistinguishedName {
            OrganizationName("Squall")
            CommonName("Squall authority \(serialNumber.description.prefix(8))")
        }
        let made = try Certificate(
            version: .v3,
            serialNumber: serialNumber,
            publicKey: .init(key.publicKey),
            notValidBefore: validity.lowerBound,
            notValidAfter: validity.upperBound,
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
                SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
            },
            issuerPrivateKey: .init(key)
        )
        certificate = try made.serializeAsPEM().pemString + "\n"
        self.name = name
        self.key = key
    }

    /// A certificate and its key for `hosts`: names, and numeric addresses without brackets.
    public func identity(for hosts: [String]) throws -> PEMIdentity {
        let texts = try texts(for: hosts)
        return PEMIdentity(certificates: Array(texts.certificate.utf8), privateKey: Array(texts.key.utf8))
    }

    /// The same as PEM text.
    public func texts(for hosts: [String]) throws -> (certificate: String, key: String) {
        let own = P256.Signing.PrivateKey()
        let names = SubjectAlternativeNames(hosts.map(Self.generalName))
        let made = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: .init(own.publicKey),
            notValidBefore: validity.lowerBound,
            notValidAfter: validity.upperBound,
            issuer: name,
            subject: try DistinguishedName { CommonName(hosts.first.map { String($0.prefix(64)) } ?? "nobody") },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth, .clientAuth])
                names
            },
            issuerPrivateKey: .init(key)
        )
        return (try made.serializeAsPEM().pemString + "\n", own.pemRepresentation + "\n")
    }

    static func generalName(_ host: String) -> GeneralName {
        bytes(of: host).map { .ipAddress(.init(contentBytes: $0[...])) } ?? .dnsName(host)
    }

    /// The bytes of a numeric address; `nil` for a name.
    static func bytes(of host: String) -> [UInt8]? {
        guard let address = try? SocketAddress(ipAddress: host, port: 0), let text = address.ipAddress else {
            return nil
        }
        return bytes(ofAddress: text)
    }

    /// The 4 or 16 bytes of a numeric address in canonical form (RFC 5952); `nil` for an IPv4-mapped IPv6 address.
    private static func bytes(ofAddress text: String) -> [UInt8]? {
        let numbers = text.split(separator: ".").compactMap { UInt8($0) }
        if numbers.count == 4, !text.contains(":") { return numbers }
        func groups(_ part: Substring) -> [UInt8] {
            part.split(separator: ":").compactMap { UInt16($0, radix: 16) }.flatMap {
                [UInt8($0 >> 8), UInt8($0 & 255)]
            }
        }
        guard let gap = text.firstRange(of: "::") else {
            return groups(text[...]).count == 16 ? groups(text[...]) : nil
        }
        let (front, back) = (groups(text[..<gap.lowerBound]), groups(text[gap.upperBound...]))
        guard front.count + back.count < 16, !text.contains(".") else { return nil }
        return front + [UInt8](repeating: 0, count: 16 - front.count - back.count) + back
    }
}
