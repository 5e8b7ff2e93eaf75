import FaultProfile
import FoundationEssentials
import HTTPTransport

/// A certificate authority for some names: a root, and an intermediate that can sign for the names alone.
///
/// The constraint is the intermediate's, because Java ignores that of a trusted root. The root's key is dropped as soon as
/// it has signed; so whoever trusts the root trusts it for the names alone.
public struct ConstrainedCA: Sendable {
    /// The validity of certificates, unless another is given: 25 hours, of which one is past, to tolerate clock skew.
    public static let lifetime: TimeInterval = 90_000
    private static let skew: TimeInterval = 3_600

    /// The certificate of the root in PEM format (RFC 7468), for clients to trust.
    public let certificate: String
    /// The names that it signs for: hosts with all below them, and numeric addresses without brackets.
    public let names: [String]

    private let intermediate: String
    private let key: String
    /// The key of all leaves.
    private let leafKey: String
    private let validity: Range<Date>

    /// Makes an authority.
    ///
    /// - Parameters:
    ///   - hosts: the names that it signs for, beside “localhost”, 127.0.0.1 and ::1.
    ///   - lifetime: how long its certificates are valid, in seconds.
    ///   - now: an hour after the time from which they are, less the part of a second.
    public init(for hosts: [String], lifetime: TimeInterval = Self.lifetime, now: Date = Date()) throws {
        var names = ["localhost", "127.0.0.1", "::1"]
        for host in hosts.map(ConstrainedCA.certified) where !names.contains(host) { names.append(host) }
        self.names = names
        // A certificate's times have whole seconds.
        let second = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        let start = second.addingTimeInterval(-ConstrainedCA.skew)
        // Its last second counts (RFC 5280, section 4.1.2.5).
        validity = start..<start.addingTimeInterval(lifetime - 1)
        let label = DevelopmentCA.label()
        let rootKey = try CertificateText.key()
        certificate = try CertificateText.certificate(
            organization: "Squall",
            commonName: label,
            validity: validity,
            pathLength: 1,
            key: rootKey,
            issuerKey: rootKey
        )
        (key, leafKey) = (try CertificateText.key(), try CertificateText.key())
        intermediate = try CertificateText.certificate(
            organization: "Squall",
            commonName: "\(label) for \(names.count) names",
            validity: validity,
            pathLength: 0,
            names: names,
            key: key,
            issuer: certificate,
            issuerKey: rootKey
        )
    }

    /// The authority for a file: both certificates, and the key of the intermediate.
    public var text: String { certificate + intermediate + key }

    /// Reads an authority from its `text`.
    ///
    /// - Parameters:
    ///   - text: the text, in PEM format.
    ///   - now: the time at which it has to be valid.
    public init(text: String, now: Date = Date()) throws(TLSSettingsProblem) {
        guard let read = CertificateText.authority(text), let leafKey = try? CertificateText.key() else {
            throw .refused("there is no authority in it; squall authority create makes one")
        }
        (certificate, intermediate, key) = (read.root, read.certificate, read.key)
        (names, validity) = (read.names, read.validity)
        self.leafKey = leafKey
        guard validity.contains(now) else {
            let (start, end) = (validity.lowerBound.formatted(.iso8601), validity.upperBound.formatted(.iso8601))
            throw .refused(
                "the authority is valid from \(start) to \(end); correct the clock, or make another by squall authority create"
            )
        }
    }

    /// Whether it signs for a name. The case of letters and a dot at the end don't matter.
    public func permits(_ name: String) -> Bool { host(name) != nil }

    /// A name as certificates have it.
    private static func certified(_ name: String) -> String {
        (name.hasSuffix(".") ? String(name.dropLast()) : name).lowercased()
    }

    /// The name as certificates have it; `nil` if it doesn't sign for it.
    private func host(_ name: String) -> String? {
        let name = ConstrainedCA.certified(name)
        let isPermitted = names.contains { name == $0 || name.hasSuffix(".\($0)") && !CertificateText.isAddress($0) }
        return isPermitted ? name : nil
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
        return PEMIdentity(certificates: Array((leaf + chain.joined()).utf8), privateKey: Array(leafKey.utf8))
    }

    private func leaf(for name: String?, with flaw: CertificateFlaw?) throws -> String {
        var hosts = name.flatMap(host).map { [$0] } ?? names
        // One that the intermediate may sign for, so that nothing else is wrong.
        if flaw == .wrongHost { hosts = ["wrong.localhost"] }
        let day: TimeInterval = 86_400
        let validity =
            switch flaw {
            case .expired: validity.lowerBound - 2 * day..<validity.lowerBound - day
            case .notYetValid: validity.upperBound + day..<validity.upperBound + 2 * day
            case .wrongHost, .selfSigned, .untrusted, .noIntermediate, .longChain, nil: validity
            }
        let isSelfSigned = flaw == .selfSigned
        return try CertificateText.certificate(
            commonName: DevelopmentCA.commonName(of: hosts),
            validity: validity,
            usage: "serverAuth",
            names: hosts,
            key: leafKey,
            issuer: isSelfSigned ? nil : intermediate,
            issuerKey: isSelfSigned ? leafKey : key
        )
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
