import HTTPTypes

/// Refuses requests that a web page of another origin has made, and those without the token.
///
/// A page can send requests to a server on the machine of its reader (CSRF), and with a name that it lets point to that
/// machine it can read the responses as well (DNS rebinding). Browsers can be told by `Origin`, `Sec-Fetch-Site` (W3C Fetch
/// Metadata) or `User-Agent`, which a page can set, and by other fields that browsers alone send. Other clients are let through.
package struct RequestGuard: Sendable {
    /// The hosts that a browser may name in `Host`, besides numeric addresses and localhost; lower case.
    private let allowedHosts: Set<String>
    private let token: [UInt8]?
    private static let browserFields = ["Referer", "DNT", "Sec-GPC"].compactMap { HTTPField.Name($0) }

    /// A guard.
    ///
    /// - Parameters:
    ///   - allowedHosts: names of the server that a browser may use.
    ///   - token: the bearer token (RFC 6750) that each request needs; `nil` for none.
    package init(allowedHosts: [String] = [], token: String? = nil) {
        self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
        self.token = token.map { Array($0.utf8) }
    }

    /// The reason to refuse a request.
    enum Refusal {
        case crossSite(String)
        case unauthorized
    }

    /// Why `request` is refused; `nil` if it may go on. The page itself needs no token: it asks for it.
    func refusal(of request: APIRequest) -> Refusal? {
        let fields = request.fields
        let origin = fields[.origin]
        let site = fields[.secFetchSite]
        let isBrowser =
            origin != nil || site != nil || fields[.userAgent]?.hasPrefix("Mozilla/") == true
            || RequestGuard.browserFields.contains { fields[$0] != nil }
            // Node.js sends "*" with a field that no page can set.
            || fields[.acceptLanguage].map { $0 != "*" || fields[.secFetchMode] == nil } ?? false
        let isPage = request.path == "/" && [.get, .head].contains(request.method)
        if isBrowser {
            let host = request.authority ?? ""
            guard isKnown(host) else {
                return .crossSite("a browser may not reach this server by the name “\(host)” (--allow-host allows it)")
            }
            if let origin, origin.lowercased() != "http://\(host.lowercased())",
                origin.lowercased() != "https://\(host.lowercased())"
            {
                return .crossSite("requests of pages on another origin are refused")
            }
            if let site, site != "same-origin", site != "none", !isPage {
                return .crossSite("requests of pages on another site are refused")
            }
        }
        if let token, !isPage, request.path != "/version" {
            guard let given = RequestGuard.bearer(fields[.authorization]), RequestGuard.areEqual(given, token) else {
                return .unauthorized
            }
        }
        return nil
    }

    private func isKnown(_ authority: String) -> Bool {
        var host = authority.lowercased()
        if host.hasPrefix("[") { return host.contains("]") }
        if let colon = host.lastIndex(of: ":") { host = String(host[..<colon]) }
        if host == "localhost" || host.hasSuffix(".localhost") || allowedHosts.contains(host) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
    }

    private static func bearer(_ field: String?) -> [UInt8]? {
        guard let field, field.lowercased().hasPrefix("bearer ") else { return nil }
        return Array(field.utf8.dropFirst("bearer ".utf8.count))
    }

    /// Compares in a time that depends on the length of `given` alone.
    private static func areEqual(_ given: [UInt8], _ token: [UInt8]) -> Bool {
        var difference = UInt8(given.count == token.count && !token.isEmpty ? 0 : 1)
        for (index, byte) in given.enumerated() { difference |= byte ^ token[index % max(1, token.count)] }
        return difference == 0
    }
}

extension HTTPField.Name {
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .origin
    static let secFetchMode = HTTPField.Name("Sec-Fetch-Mode") ?? .origin
}
