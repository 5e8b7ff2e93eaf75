import Units

/// Addresses with TLS: “tls:api.example.com:443”, which may be written “https://api.example.com”.
package enum SecureAddress {
    /// The word in front of an address with TLS.
    package static let prefix = "tls:"
    private static let scheme = "https://"
    private static let port = ":443"

    /// An address with its host, as `LoopbackAddress.completing` has it; what stands behind “tls:” likewise.
    package static func completing(_ text: String) -> String {
        rest(of: text).map { prefix + LoopbackAddress.completing($0) } ?? LoopbackAddress.completing(text)
    }

    /// A URL as this program writes its address; other text stays as it is.
    ///
    /// - Throws: what is wrong with a URL.
    package static func translated(_ text: String) throws(UnitError) -> String {
        guard text.hasPrefix(scheme) else { return text }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { !"/?#".contains($0) }
        let host = authority.last.map { $0 == "]" } ?? true || !authority.contains(":") ? authority + port : authority
        guard !authority.isEmpty, !authority.contains("@"),
            rest.dropFirst(authority.count) == "" || rest.dropFirst(authority.count) == "/"
        else {
            let known = authority.split(separator: "@").last.map(String.init) ?? ""
            throw UnitError(
                problem: "\(text.quoted) has more than a host and a port",
                remedy:
                    "write \("\(scheme)\(known.isEmpty ? "HOST" : known)".quoted); paths are in the requests of clients"
            )
        }
        return prefix + host
    }

    /// What stands behind “tls:”; `nil` for an address without TLS. “tls:443” is a host called “tls”.
    package static func rest(of text: String) -> String? {
        guard text.hasPrefix(prefix), text.dropFirst(prefix.count).contains(":") else { return nil }
        return String(text.dropFirst(prefix.count))
    }
}
