import HTTPTypes

/// The credentials of a transfer and the rules for sending them.
///
/// A user name with password, and fields added by the caller, are sent only to the origin of the URL (RFC 9110, section
/// 4.3.1: scheme, host and port), and no longer once a redirect has left it. A `.netrc` is looked up for each host.
/// Credentials are never journalled or printed.
public struct DownloadCredentials: Hashable, Sendable, Confidential {
    /// No credentials.
    public static let none = DownloadCredentials()

    private let basic: BasicCredentials?
    private let fields: [RequestField]
    private let netrc: Netrc?

    /// Makes credentials from a user name with password, from fields (possibly `Authorization`), and from a `.netrc`
    /// for hosts that neither applies to.
    public init(basic: BasicCredentials? = nil, fields: [RequestField] = [], netrc: Netrc? = nil) {
        self.basic = basic
        self.fields = fields
        self.netrc = netrc
    }

    /// The additional fields of a request at the end of `trail`.
    public func fields(for trail: RequestTrail) -> [HTTPField] {
        let given = fields.filter { !trail.hasLeftOrigin || $0.isHarmless }
        return given.map { HTTPField(name: $0.name, value: $0.value) } + (authorization(for: trail).map { [$0] } ?? [])
    }

    /// Whether a request at the end of `trail` carries credentials.
    public func use(for trail: RequestTrail) -> CredentialUse {
        let isGiven = basic != nil || fields.contains { !$0.isHarmless }
        if authorization(for: trail) != nil || isGiven && !trail.hasLeftOrigin { return .sent }
        return isGiven ? .withheld : .none
    }

    private func authorization(for trail: RequestTrail) -> HTTPField? {
        if !trail.hasLeftOrigin {
            if fields.contains(where: \.isAuthorization) { return nil }
            if let basic { return HTTPField(name: .authorization, value: basic.fieldValue) }
        }
        guard !trail.hasLostTLS else { return nil }
        // The `default` entry applies to hosts named by the caller, not by a server.
        let found = netrc?.credentials(for: trail.current.host, orDefault: !trail.hasLeftOrigin)
        return found.map { HTTPField(name: .authorization, value: $0.fieldValue) }
    }
}

/// A value whose contents never appear in descriptions or dumps.
public protocol Confidential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Confidential {
    /// The same for every value.
    public var description: String { "(confidential)" }
    /// The same for every value.
    public var debugDescription: String { description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Whether a request carried credentials.
public enum CredentialUse: Hashable, Sendable {
    /// There were none.
    case none
    /// It carried some.
    case sent
    /// There were some, for another origin.
    case withheld
}

/// The redirects of a request.
public struct RequestTrail: Hashable, Sendable {
    /// The URL that the caller gave.
    public let first: DownloadURL
    /// The current URL.
    public private(set) var current: DownloadURL
    /// Whether the chain has left the first origin. Sticky: a foreign origin may have chosen the URL that it redirects
    /// back to.
    public private(set) var hasLeftOrigin = false
    /// Whether it went from `https` to `http`.
    public private(set) var hasLostTLS = false

    /// A chain that starts at `url`.
    public init(_ url: DownloadURL) {
        first = url
        current = url
    }

    /// Follows a redirect.
    public mutating func follow(_ url: DownloadURL) {
        if current.scheme == .https, url.scheme == .http { hasLostTLS = true }
        if !url.hasSameOrigin(as: first) { hasLeftOrigin = true }
        current = url
    }
}

extension DownloadURL {
    /// Whether both have one origin: scheme, host and port (RFC 9110, section 4.3.1).
    public func hasSameOrigin(as other: DownloadURL) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }
}
