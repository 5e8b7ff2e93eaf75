import HTTPSemantics

/// The HTTP proxies, and the hosts that bypass them.
public struct ProxySettings: Hashable, Sendable {
    /// The address of a proxy.
    public struct Proxy: Hashable, Sendable {
        /// A name, or an address without brackets.
        public let host: String
        /// The port, 1 to 65535.
        public let port: Int
        /// The credentials for the proxy.
        public let credentials: BasicCredentials?

        /// The value of `Proxy-Authorization`; `nil` without credentials.
        public var authorization: String? { credentials?.fieldValue }

        /// Parses `[http://][NAME[:PASSWORD]@]HOST[:PORT]`. The default port is 80. Name and password may be
        /// percent-encoded.
        public init(_ text: String) throws(ProxyProblem) {
            var rest = text[...]
            if let separator = text.firstRange(of: "://") {
                let scheme = text[..<separator.lowerBound]
                guard scheme.lowercased() == "http" else { throw .unknownScheme(String(scheme)) }
                rest = text[separator.upperBound...]
            }
            let at = rest.lastIndex(of: "@")
            credentials = try at.map { index throws(ProxyProblem) in try Self.credentials(rest[..<index]) }
            let address = at.map { rest[rest.index(after: $0)...] } ?? rest
            let url: TransferURL
            do throws(TransferURLProblem) {
                url = try TransferURL("http://\(address)")
            } catch {
                throw .invalid
            }
            guard url.path == "/", url.query == nil else { throw .invalid }
            (host, port) = (url.host, url.port)
        }

        private static func credentials(_ text: Substring) throws(ProxyProblem) -> BasicCredentials {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { PercentCoding.decoded($0) }
            guard let name = decoded[0], let password = parts.count == 2 ? decoded[1] : "" else { throw .invalid }
            do throws(CredentialProblem) {
                return try BasicCredentials(name: name, password: password)
            } catch {
                throw .invalidCredentials
            }
        }
    }

    /// The forwarding proxy for `http` URLs, or the problem of its address.
    private let http: Result<Proxy, ProxyProblem>?
    /// The tunnelling proxy for `https` URLs (RFC 9110, section 9.3.6), or the problem of its address.
    private let https: Result<Proxy, ProxyProblem>?
    /// The hosts that bypass the proxies.
    private var exceptions: [Exception] = []
    private var exceptsLoopback = false

    /// No proxy.
    public static let none = ProxySettings()

    /// Makes settings with a proxy for each scheme.
    ///
    /// - Parameter exceptions: The hosts that bypass the proxies, in the format of `no_proxy`.
    public init(http: Proxy? = nil, https: Proxy? = nil, exceptions: String = "") {
        self.http = http.map { .success($0) }
        self.https = https.map { .success($0) }
        self.exceptions = Self.read(exceptions)
    }

    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` as curl does: lower case first, then upper case,
    /// except for `HTTP_PROXY`, which CGI takes from a request. `localhost` and loopback addresses bypass the proxies. An
    /// unusable address is an error only for URLs that need it.
    public init(environment: [String: String]) {
        func value(_ name: String, upperCase: Bool = true) -> String? {
            let found = environment[name] ?? (upperCase ? environment[name.uppercased()] : nil)
            return found.flatMap { $0.isEmpty ? nil : $0 }
        }
        func proxy(_ text: String) -> Result<Proxy, ProxyProblem> {
            Result { () throws(ProxyProblem) in try Proxy(text) }
        }
        let all = value("all_proxy")
        http = (value("http_proxy", upperCase: false) ?? all).map(proxy)
        https = (value("https_proxy") ?? all).map(proxy)
        exceptions = Self.read(value("no_proxy") ?? "")
        exceptsLoopback = true
    }

    /// The proxy for a URL; `nil` for a direct connection.
    ///
    /// - Throws: The problem of its address.
    public func proxy(for url: TransferURL) throws(ProxyProblem) -> Proxy? {
        guard let proxy = url.scheme == .https ? https : http else { return nil }
        if exceptsLoopback, url.isOfLoopback { return nil }
        return exceptions.contains { $0.matches(url) } ? nil : try proxy.get()
    }

    /// The maximum number of `no_proxy` entries: 256.
    static let maximumExceptions = 256

    private static func read(_ text: String) -> [Exception] {
        text.split { $0 == "," || $0 == " " }.prefix(maximumExceptions).map { Exception(String($0)) }
    }

    /// A `no_proxy` entry: `*`, a domain with its subdomains, or an address, optionally with a port.
    private struct Exception: Hashable, Sendable {
        let host: String
        let port: Int?

        init(_ text: String) {
            var text = text.lowercased()
            if text.hasPrefix(".") { text.removeFirst() }
            if text.hasPrefix("*.") { text.removeFirst(2) }
            if text == "*" || text.filter({ $0 == ":" }).count > 1 && !text.hasPrefix("[") {
                (host, port) = (text, nil)
            } else if let url = try? TransferURL("http://\(text)") {
                (host, port) = (url.host, text.hasSuffix(":\(url.port)") ? url.port : nil)
            } else {
                (host, port) = (text, nil)
            }
        }

        func matches(_ url: TransferURL) -> Bool {
            guard port == nil || port == url.port else { return false }
            return host == "*" || url.host == host || url.host.hasSuffix("." + host)
        }
    }
}

/// Why a text isn't a proxy address. Contains no password.
public enum ProxyProblem: Error, Hashable, Sendable {
    /// It isn't `http://HOST:PORT`.
    case invalid
    /// A scheme other than `http`.
    case unknownScheme(String)
    /// The name or the password can't be sent.
    case invalidCredentials
}

extension ProxyProblem: CustomStringConvertible {
    /// The problem as a clause.
    public var description: String {
        switch self {
        case .invalid: "the address of a proxy is http://HOST:PORT"
        case .unknownScheme(let scheme): "a proxy is spoken to by http, not by “\(scheme.prefix(40))”"
        case .invalidCredentials: "the name or the password of the proxy has a character that can't be sent"
        }
    }
}

extension TransferURL {
    /// Whether the host is a loopback name or address.
    public var isOfLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.utf8.allSatisfy { (48...57).contains($0) || $0 == UInt8(ascii: ".") })
    }
}
