/// The address of a download: an absolute `http` or `https` URL, split into what a request needs (RFC 3986).
public struct DownloadURL: Hashable, Sendable {
    /// The schemes that are understood.
    public enum Scheme: String, Hashable, Sendable {
        /// Plain HTTP, by default on port 80.
        case http
        /// HTTP over TLS, by default on port 443.
        case https

        /// The port when none is named.
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
    /// The path, which starts with a slash; bytes that can't stand in a URL are percent-encoded.
    public let path: String
    /// The query without its question mark, or `nil`.
    public let query: String?

    /// The longest URL that is read: 8,000 bytes, as RFC 9110, section 4.1 recommends to support at least.
    public static let longest = 8_000

    /// The request target: the path and the query.
    public var target: String { path + (query.map { "?" + $0 } ?? "") }

    /// The value for `Host`: without the port when it is the scheme's own.
    public var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == scheme.defaultPort ? name : "\(name):\(port)"
    }

    /// The whole URL.
    public var text: String { "\(scheme.rawValue)://\(authority)\(target)" }

    /// Whether both name one resource, as far as a validator goes: all but the query is the same, which changes when a
    /// URL is signed anew.
    public func isSameResource(as other: DownloadURL) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port && path == other.path
    }

    /// Whether nothing that was kept secret on the way to `other` is sent in the clear to this one.
    func isAsSafe(as other: DownloadURL) -> Bool { scheme == .https || other.scheme == .http }

    /// Reads an absolute URL. A fragment is dropped: it never goes to a server.
    public init(_ text: String) throws(DownloadURLProblem) {
        let parts = try URLReference(text)
        guard let scheme = parts.scheme else { throw .noScheme }
        guard let known = Scheme(rawValue: scheme.lowercased()) else { throw .unknownScheme(scheme) }
        guard let authority = parts.authority else { throw .noHost }
        try self.init(
            scheme: known,
            authority: String(authority),
            path: String(parts.path),
            query: parts.query.map { String($0) }
        )
    }

    /// Resolves a `Location` against this URL (RFC 3986, section 5.2; RFC 9110, section 10.2.2).
    public func resolving(_ location: String) throws(DownloadURLProblem) -> DownloadURL {
        let parts = try URLReference(location)
        if parts.scheme != nil { return try DownloadURL(location) }
        if let authority = parts.authority {
            return try DownloadURL(
                scheme: scheme,
                authority: String(authority),
                path: String(parts.path),
                query: parts.query.map { String($0) }
            )
        }
        let merged: String
        if parts.path.isEmpty {
            merged = path
        } else if parts.path.hasPrefix("/") {
            merged = String(parts.path)
        } else {
            merged = path[..<(path.lastIndex(of: "/") ?? path.startIndex)] + "/" + parts.path
        }
        let keepsQuery = parts.path.isEmpty && parts.query == nil
        return try DownloadURL(
            scheme: scheme,
            authority: host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)",
            path: merged,
            query: keepsQuery ? query : parts.query.map { String($0) }
        )
    }

    private init(scheme: Scheme, authority: String, path: String, query: String?) throws(DownloadURLProblem) {
        guard !authority.contains("@") else { throw .userInformation }
        let (name, portText) = try URLReference.splitAuthority(authority)
        self.scheme = scheme
        host = name.lowercased()
        if portText.isEmpty {
            port = scheme.defaultPort
        } else {
            guard portText.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(portText),
                (1...65_535).contains(number)
            else { throw .invalidPort(String(portText)) }
            port = number
        }
        let encoded = URLReference.percentEncoded(path)
        self.path = URLReference.withoutDotSegments(encoded.hasPrefix("/") ? encoded : "/" + encoded)
        self.query = query.map { URLReference.percentEncoded($0) }
    }
}

/// Why a text isn't the URL of a download.
public enum DownloadURLProblem: Error, Hashable, Sendable {
    /// It doesn't start with a scheme such as `http:`.
    case noScheme
    /// The scheme is neither `http` nor `https`.
    case unknownScheme(String)
    /// There is no host.
    case noHost
    /// The host has a character that no host name has; names beyond ASCII are to be given in Punycode.
    case invalidHost(String)
    /// The port is no number from 1 to 65535.
    case invalidPort(String)
    /// There is a user name before the host: credentials are given apart from the URL, which is shown and kept in a journal.
    case userInformation
    /// There is a control character.
    case controlCharacter
    /// It is longer than `DownloadURL.longest`.
    case tooLong
}
