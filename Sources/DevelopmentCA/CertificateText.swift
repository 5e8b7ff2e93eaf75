import CCrypto
import FoundationEssentials
import Glibc

/// Keys and certificates as text in PEM format (RFC 7468), made by the system's libcrypto.
enum CertificateText {
    /// No certificate can be made for names, as for one that is none of a host; without names, no key could be made.
    struct Failure: Error, CustomStringConvertible {
        let names: [String]
        init(_ names: [String] = []) { self.names = names }
        var description: String {
            "no certificate can be made" + (names.isEmpty ? "" : " for \(names.joined(separator: ", "))")
        }
    }

    /// A private key of P-256.
    static func key() throws(Failure) -> String {
        guard let text = unsafe taken(squall_make_key()) else { throw Failure() }
        return text
    }

    /// A certificate.
    ///
    /// - Parameters:
    ///   - organization: that of its subject; `nil` for none.
    ///   - commonName: the name of its subject: at most 64 characters.
    ///   - pathLength: how many authorities an authority may have below it; `nil` for a certificate of none.
    ///   - usage: its extended key usage, as in x509v3_config(5); `nil` for any.
    ///   - names: hosts, and numeric addresses without brackets, that it is for, or that an authority signs for.
    ///   - key: its own key.
    ///   - issuer: the issuer's certificate; `nil` for its own.
    ///   - issuerKey: the issuer's key.
    static func certificate(
        organization: String? = nil,
        commonName: String,
        validity: Range<Date>,
        pathLength: Int32? = nil,
        usage: String? = nil,
        names: [String] = [],
        key: String,
        issuer: String? = nil,
        issuerKey: String
    ) throws(Failure) -> String {
        // Nothing in a name ends its line, or the text.
        guard names.allSatisfy({ $0.utf8.allSatisfy { (33...126).contains($0) } }) else { throw Failure(names) }
        let made = unsafe squall_make_certificate(
            organization,
            commonName,
            Int64(validity.lowerBound.timeIntervalSince1970.rounded(.down)),
            Int64(validity.upperBound.timeIntervalSince1970.rounded(.down)),
            pathLength ?? -1,
            usage,
            names.isEmpty ? nil : names.map { $0 + "\n" }.joined(),
            key,
            issuer,
            issuerKey
        )
        guard let text = unsafe taken(made) else { throw Failure(names) }
        return text
    }

    /// An authority that a root has signed.
    struct Authority {
        let root: String
        let certificate: String
        let key: String
        let names: [String]
        let validity: Range<Date>
    }

    /// Reads the certificates of a root and of the authority, and the authority's key; `nil` if a text hasn't got them.
    static func authority(_ text: String) -> Authority? {
        var read = unsafe squall_authority()
        guard unsafe squall_read_authority(text, &read) == 1 else { return nil }
        let (root, certificate) = unsafe (taken(read.root), taken(read.certificate))
        let (key, names) = unsafe (taken(read.key), taken(read.names))
        let (start, end) = unsafe (read.not_before, read.not_after)
        guard let root, let certificate, let key, let names, start < end else { return nil }
        return Authority(
            root: root,
            certificate: certificate,
            key: key,
            names: names.split(separator: "\n").map(String.init),
            validity: Date(timeIntervalSince1970: Double(start))..<Date(timeIntervalSince1970: Double(end))
        )
    }

    /// Whether a text is a numeric address.
    static func isAddress(_ text: String) -> Bool { unsafe squall_is_address(text) == 1 }

    private static func taken(_ text: UnsafeMutablePointer<CChar>?) -> String? {
        guard let text = unsafe text else { return nil }
        defer { unsafe free(text) }
        return unsafe String(cString: text)
    }
}
