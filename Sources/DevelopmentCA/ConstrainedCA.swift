import Crypto
import FaultProfile
import FoundationEssentials
import HTTPTransport
import NIOCore
import SwiftASN1
import X509

/// A certificate authority for some names: a root, and an intermediate that can sign for the names alone.
///
/// The constraint is the intermediate's, because Java ignores that of a trusted root. The root's key is dropped as soon as
/// it has signed; so whoever trusts the root trusts it for the names alone.
public struct ConstrainedCA: Sendable {
    /// The validity of certificates, unless another is given: 24 hours. It starts an hour in the past to tolerate clock skew.
    public static let lifetime: TimeInterval = 86_400

    /// The certificate of the root in PEM format (RFC 7468), for clients to trust.
    public let certificate: String
    /// The names that it signs for: hosts with all below them, and numeric addresses without brackets.
    public let names: [String]

    private let intermediate: String
    private let issuer: DistinguishedName
    private let key: P256.Signing.PrivateKey
    /// The key of all leaves.
    private let leafKey = P256.Signing.PrivateKey()
    private let validity: Range<Date>

    /// Makes an authority.
    ///
    /// - Parameters:
    ///   - hosts: the names that it signs for, beside “localhost”, 127.0.0.1 and ::1.
    ///   - lifetime: how long its certificates are valid.
    ///   - now: the time from which they are, less the part of a second.
    public init(for hosts: [String], lifetime: TimeInterval = Self.lifetime, now: Date = Date()) throws {
        var names = ["localhost", "127.0.0.1", "::1"]
        for host in hosts.map({ $0.lowercased() }) where !names.contains(host) { names.append(host) }
        self.names = names
        // A certificate's times have whole seconds, and swift-certificates rounds to the nearest.
        let second = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        validity = second.addingTimeInterval(-3_600)..<second.addingTimeInterval(lifetime)
        let root = P256.Signing.PrivateKey()
        let number = Certificate.SerialNumber()
        let label = "Squall authority \(number.description.prefix(8))"
        let rootName = try DistinguishedName {
            OrganizationName("Squall")
            CommonName(label)
        }
        issuer = try DistinguishedName {
            OrganizationName("Squall")
            CommonName("\(label) for \(names.count) names")
        }
        key = P256.Signing.PrivateKey()
        certificate = try Self.text(
            of: root.publicKey,
            rootName,
            by: rootName,
            root,
            validity,
            number,
            try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 1))
                Critical(KeyUsage(keyCertSign: true))
                SubjectKeyIdentifier(hash: Certificate.PublicKey(root.publicKey))
            }
        )
        let rootIdentifier = SubjectKeyIdentifier(hash: Certificate.PublicKey(root.publicKey))
        let constraints = NameConstraints(permittedSubtrees: names.map(Self.subtree))
        let publicKey = key.publicKey
        intermediate = try Self.text(
            of: publicKey,
            issuer,
            by: rootName,
            root,
            validity,
            Certificate.SerialNumber(),
            try Certificate.Extensions {
                Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
                Critical(KeyUsage(keyCertSign: true))
                Critical(constraints)
                SubjectKeyIdentifier(hash: Certificate.PublicKey(publicKey))
                AuthorityKeyIdentifier(keyIdentifier: rootIdentifier.keyIdentifier)
            }
        )
    }

    /// The authority for a file: both certificates, and the key of the intermediate.
    public var text: String { certificate + intermediate + key.pemRepresentation + "\n" }

    /// Reads an authority from its `text`.
    ///
    /// - Parameters:
    ///   - text: the text, in PEM format.
    ///   - now: the time at which it has to be valid.
    public init(text: String, now: Date = Date()) throws(TLSSettingsProblem) {
        let parts: (root: Certificate, own: Certificate, key: P256.Signing.PrivateKey)
        do {
            let documents = try PEMDocument.parseMultiple(pemString: text)
            guard documents.count == 3 else { throw ConstrainedCA.unreadable }
            parts = (
                try Certificate(pemDocument: documents[0]), try Certificate(pemDocument: documents[1]),
                try P256.Signing.PrivateKey(pemRepresentation: documents[2].pemString)
            )
            certificate = documents[0].pemString + "\n"
            intermediate = documents[1].pemString + "\n"
        } catch {
            throw ConstrainedCA.unreadable
        }
        let constraints = try? parts.own.extensions.nameConstraints
        names = constraints?.permittedSubtrees.compactMap(Self.name) ?? []
        (key, issuer) = (parts.key, parts.own.subject)
        guard !names.isEmpty, parts.own.publicKey == Certificate.PublicKey(key.publicKey),
            parts.root.publicKey.isValidSignature(parts.own.signature, for: parts.own),
            parts.own.notValidBefore < parts.own.notValidAfter
        else { throw ConstrainedCA.unreadable }
        validity = parts.own.notValidBefore..<parts.own.notValidAfter
        guard now < validity.upperBound else {
            let end = validity.upperBound.formatted(.iso8601)
            throw .refused("the authority expired at \(end); squall authority create makes another")
        }
    }

    /// Whether it signs for a name.
    public func permits(_ name: String) -> Bool {
        let name = name.lowercased()
        return names.contains { name == $0 || name.hasSuffix(".\($0)") && DevelopmentCA.bytes(of: $0) == nil }
    }

    /// The certificate for a name, with that of the intermediate, and its key. One that it doesn't sign for, or none, gets
    /// that for all of `names`.
    ///
    /// - Parameters:
    ///   - name: the name; `nil` for none.
    ///   - flaw: what is to be wrong with it; `nil` for nothing.
    public func identity(for name: String?, with flaw: CertificateFlaw? = nil) throws -> PEMIdentity {
        let leaf = try leaf(for: name, with: flaw)
        let chain: [String]
        switch flaw {
        case .untrusted:
            let other = try ConstrainedCA(for: names)
            let identity = try other.identity(for: name)
            return PEMIdentity(
                certificates: identity.certificates + Array(other.certificate.utf8),
                privateKey: identity.privateKey
            )
        case .selfSigned, .noIntermediate: chain = []
        case .longChain: chain = Array(repeating: intermediate, count: CertificateFlaw.longChainCount - 1)
        case .expired, .notYetValid, .wrongHost, nil: chain = [intermediate]
        }
        return PEMIdentity(
            certificates: Array((leaf + chain.joined()).utf8),
            privateKey: Array(leafKey.pemRepresentation.utf8)
        )
    }

    private func leaf(for name: String?, with flaw: CertificateFlaw?) throws -> String {
        var hosts = name.flatMap { permits($0) ? [$0.lowercased()] : nil } ?? names
        // One that the intermediate may sign for, so that nothing else is wrong.
        if flaw == .wrongHost { hosts = ["wrong.localhost"] }
        let day: TimeInterval = 86_400
        let validity =
            switch flaw {
            case .expired: validity.lowerBound - 2 * day..<validity.lowerBound - day
            case .notYetValid: validity.upperBound + day..<validity.upperBound + 2 * day
            case .wrongHost, .selfSigned, .untrusted, .noIntermediate, .longChain, nil: validity
            }
        let subject = try DistinguishedName { CommonName(hosts.first.map { String($0.prefix(64)) } ?? "nobody") }
        let (issuer, key) = flaw == .selfSigned ? (subject, leafKey) : (issuer, key)
        let alternatives = SubjectAlternativeNames(hosts.map(DevelopmentCA.generalName))
        return try Self.text(
            of: leafKey.publicKey,
            subject,
            by: issuer,
            key,
            validity,
            Certificate.SerialNumber(),
            try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage([.serverAuth])
                alternatives
                AuthorityKeyIdentifier(
                    keyIdentifier: SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey)).keyIdentifier
                )
            }
        )
    }

    /// The part of all names that one is: a host with those below it (RFC 5280, section 4.2.1.10), or one address.
    private static func subtree(_ name: String) -> GeneralName {
        guard let bytes = DevelopmentCA.bytes(of: name) else { return .dnsName(name) }
        return .ipAddress(.init(contentBytes: (bytes + [UInt8](repeating: 255, count: bytes.count))[...]))
    }

    private static let unreadable = TLSSettingsProblem.refused(
        "there is no authority in it; squall authority create makes one"
    )

    /// The name of a part of all names, see `subtree`.
    private static func name(of subtree: GeneralName) -> String? {
        switch subtree {
        case .dnsName(let name): return name
        case .ipAddress(let range):
            let bytes = ByteBuffer(bytes: range.bytes.prefix(range.bytes.count / 2))
            return (try? SocketAddress(packedIPAddress: bytes, port: 0))?.ipAddress
        default: return nil
        }
    }

    private static func text(
        of publicKey: P256.Signing.PublicKey,
        _ subject: DistinguishedName,
        by issuer: DistinguishedName,
        _ issuerKey: P256.Signing.PrivateKey,
        _ validity: Range<Date>,
        _ number: Certificate.SerialNumber,
        _ extensions: Certificate.Extensions
    ) throws -> String {
        let made = try Certificate(
            version: .v3,
            serialNumber: number,
            publicKey: .init(publicKey),
            notValidBefore: validity.lowerBound,
            notValidAfter: validity.upperBound,
            issuer: issuer,
            subject: subject,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: .init(issuerKey)
        )
        return try made.serializeAsPEM().pemString + "\n"
    }
}

extension ConstrainedCA: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names; nothing of the keys.
    public var description: String { "ConstrainedCA(\(names.joined(separator: ", ")))" }
    /// The same.
    public var debugDescription: String { description }
    /// No children, so that dumps don't show the keys.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
