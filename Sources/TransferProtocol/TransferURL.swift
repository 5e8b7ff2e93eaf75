import HTTPSemantics

/// An absolute `http` or `https` URL, split into the parts of a request (RFC 3986).
public struct TransferURL: Hashable, Sendable {
    /// The supported schemes.
    public enum Scheme: String, Hashable, Sendable {
        /// Plain HTTP, by default on port 80.
        case http
        /// HTTP over TLS, by default on port 443.
        case https

        /// The default port.
        public var defaultPort: Int {
            switch self {
            case .http: 80
            case .https: 443
            }
        }
    }

    /// The scheme.
    public let scheme: Scheme
    /// The host in lower case; an IPv6 address without its brackets.
    public let host: String
    /// The port, 1 to 65535.
    public let port: Int
    /// The path, which starts with a slash; characters not allowed in a URL are percent-encoded.
    public let path: String
    /// The query without its question mark.
    public let query: String?

    /// The maximum length of a URL: 8,000 bytes, the minimum recommended by RFC 9110, section 4.1.
    public static let maximumLength = 8_000

    /// The request target: the path and the query.
    public var target: String { path + (query.map { "?" + $0 } ?? "") }

    /// The value of `Host`: without the scheme's default port.
    public var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == scheme.defaultPort ? name : "\(name):\(port)"
    }

    /// The whole URL.
    public var text: String { "\(scheme.rawValue)://\(authority)\(target)" }

    /// The last part of the path, decoded; `nil` if no file can have that name.
    package var fileName: String? {
        let last = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let name = PercentCoding.decoded(last), !["", ".", ".."].contains(name) else { return nil }
        return name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") } ? nil : name
    }

    /// Whether both name the same resource for validators: everything but the query, which changes with signatures.
    public func isSameResource(as other: TransferURL) -> Bool {
        hasSameOrigin(as: other) && path == other.path
    }

    /// Whether this URL is no less secure than `other`: no downgrade to plain HTTP.
    func isAsSafe(as other: TransferURL) -> Bool { scheme == .https || other.scheme == .http }

    /// Parses an absolute URL. Drops the fragment.
    public init(_ text: String) throws(TransferURLProblem) {
        let parts = try URLReference(text)
        guard let scheme = parts.scheme else { throw .noScheme }
        guard let known = Scheme(rawValue: scheme.lowercased()) else { throw .unknownScheme(scheme) }
        guard let authority = parts.authority else { throw .noHost }
        try self.init(scheme: known, authority: authority, path: parts.path, query: parts.query)
    }

    /// Resolves a `Location` against this URL (RFC 3986, section 5.2; RFC 9110, section 10.2.2).
    public func resolving(_ location: String) throws(TransferURLProblem) -> TransferURL {
        let parts = try URLReference(location)
        if parts.scheme != nil { return try TransferURL(location) }
        if let authority = parts.authority {
            return try TransferURL(scheme: scheme, authority: authority, path: parts.path, query: parts.query)
        }
        let merged: String
        if parts.path.isEmpty {
            merged = path
        } else if parts.path.hasPrefix("/") {
            merged = parts.path
        } else {
            merged = path[..<(path.lastIndex(of: "/") ?? path.startIndex)] + "/" + parts.path
        }
        let keepsQuery = parts.path.isEmpty && parts.query == nil
        return try TransferURL(
            scheme: scheme,
            authority: host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)",
            path: merged,
            query: keepsQuery ? query : parts.query
        )
    }

    private init(scheme: Scheme, authority: String, path: String, query: String?) throws(TransferURLProblem) {
        guard !authority.contains("@") else { throw .userInformation }
        let (name, portText) = try URLReference.splitAuthority(authority)
        self.scheme = scheme
        host = name.lowercased()
        if portText.isEmpty {
            port = scheme.defaultPort
        } else {
            guard portText.utf8.allSatisfy(\.isDigit), let number = Int(portText),
                (1...65_535).contains(number)
            else { throw .invalidPort(String(portText)) }
            port = number
        }
        let encoded = URLReference.percentEncoded(path)
        self.path = URLReference.withoutDotSegments(encoded.hasPrefix("/") ? encoded : "/" + encoded)
        self.query = query.map { URLReference.percentEncoded($0) }
        // A relative reference is joined with a path, and encoding triples characters.
        guard target.utf8.count <= Self.maximumLength * 3 else { throw .tooLong }
    }
}

/// Why a text isn't a download URL.
public enum TransferURLProblem: Error, Hashable, Sendable {
    /// It doesn't start with a scheme such as `http:`.
    case noScheme
    /// The scheme is neither `http` nor `https`.
    case unknownScheme(String)
    /// There is no host.
    case noHost
    /// The host has an invalid character; internationalized names must be in Punycode.
    case invalidHost(String)
    /// The port isn't a number from 1 to 65535.
    case invalidPort(String)
    /// There is user information: credentials are passed separately, because URLs are printed and journalled.
    case userInformation
    /// A control character.
    case controlCharacter
    /// Longer than `TransferURL.maximumLength`.
    case tooLong
}
