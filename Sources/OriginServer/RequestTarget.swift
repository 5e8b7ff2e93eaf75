import HTTPSemantics

/// A parsed request target (RFC 9112, section 3.2).
enum RequestTarget: Hashable {
    /// A path in the folder, without components that lead elsewhere. Empty for the folder itself.
    case path(components: [String], endsWithSlash: Bool)
    /// `*`: the server as a whole.
    case server
    /// A path that can't name a served file.
    case unservable
    /// Not a request target: 400.
    case malformed

    /// The maximum length of a target in bytes; below the decoder's own limit.
    static let maximumLength = 8_192

    /// Parses origin-form, absolute-form (ignoring the authority, since there is one site) and asterisk-form. Ignores
    /// the query. Decodes percent-encoding once.
    ///
    /// Unservable, after decoding: an empty component, `.` and `..`, a slash or backslash within a component, and
    /// hidden names (`isHidden`). Malformed: a NUL, invalid percent-encoding, and bytes that aren't UTF-8.
    init(_ target: String) {
        guard target.utf8.count <= Self.maximumLength, !target.utf8.contains(UInt8(ascii: "#")), target != "*" else {
            self = target == "*" ? .server : .malformed
            return
        }
        self = Self.path(of: target).map { Self.components(of: $0) } ?? .malformed
    }

    /// Whether a name is never served: hidden files, which start with a dot, and partial files of the transfer client.
    static func isHidden(_ name: some StringProtocol) -> Bool {
        name.utf8.first == UInt8(ascii: ".") || name.contains(".squall-part")
    }

    /// A reference to the folder at `components`, with a trailing slash and the query (RFC 3986, section 4.2).
    ///
    /// It has no scheme or host. No component is empty, so it can't start with two slashes, which would name a host.
    static func folderReference(_ components: [String], query: String?) -> String {
        let path = components.map { "/" + PercentCoding.encoded($0, keeping: "-._~!$&'()*+,;=:@") }.joined() + "/"
        return path + (query.map { "?" + PercentCoding.encoded($0, keeping: "-._~!$&'()*+,;=:@/?%") } ?? "")
    }

    /// The path of an origin-form or absolute-form target, as sent; `nil` for other forms.
    static func path(of target: String) -> Substring? {
        let beforeQuery = target.prefix { $0 != "?" }
        if beforeQuery.utf8.first == UInt8(ascii: "/") { return beforeQuery }
        guard let schemeEnd = beforeQuery.firstRange(of: "://") else { return nil }
        let scheme = beforeQuery[..<schemeEnd.lowerBound].lowercased()
        let afterScheme = beforeQuery[schemeEnd.upperBound...]
        guard scheme == "http" || scheme == "https", afterScheme.first != "/", !afterScheme.isEmpty else { return nil }
        let path = afterScheme.drop { $0 != "/" }
        return path.isEmpty ? "/" : path
    }

    private static func components(of path: Substring) -> RequestTarget {
        var components: [String] = []
        let encoded = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        let endsWithSlash = encoded.last?.isEmpty ?? true
        for name in endsWithSlash ? encoded.dropLast() : encoded[...] {
            guard let decoded = PercentCoding.decoded(name), !decoded.utf8.contains(0) else { return .malformed }
            components.append(decoded)
        }
        let servable = components.allSatisfy { name in
            !name.isEmpty && !isHidden(name)
                && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        }
        return servable ? .path(components: components, endsWithSlash: endsWithSlash) : .unservable
    }
}
