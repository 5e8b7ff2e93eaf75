import HTTPTypes

/// What a transfer may show of its caller, and to whom.
///
/// A name with its password, and fields that the caller adds, go to the origin of the URL alone (RFC 9110, section 4.3.1:
/// scheme, host and port), and no more once a redirection has left it. A `.netrc` is asked anew for each host. Nothing here
/// is written into a journal or shown in a text.
public struct DownloadCredentials: Hashable, Sendable, Confidential {
    /// No credentials.
    public static let none = DownloadCredentials()

    private let basic: BasicCredentials?
    private let fields: [RequestField]
    private let netrc: Netrc?

    /// Makes credentials of a name with its password, of fields, of which one may be `Authorization` in its place, and of a
    /// `.netrc` for hosts that neither is for.
    public init(basic: BasicCredentials? = nil, fields: [RequestField] = [], netrc: Netrc? = nil) {
        self.basic = basic
        self.fields = fields
        self.netrc = netrc
    }

    /// The fields that a request at the end of `trail` carries in addition.
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
        // “default” means the hosts that the caller names, and none that a server names.
        let found = netrc?.credentials(for: trail.current.host, orDefault: !trail.hasLeftOrigin)
        return found.map { HTTPField(name: .authorization, value: $0.fieldValue) }
    }
}

/// A value that no text shows anything of, not even one that a debugger or an interpolation makes.
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
    /// There were none for it.
    case none
    /// It carried some.
    case sent
    /// There were some, for another origin.
    case withheld
}

/// The way of a request through its redirections.
public struct RequestTrail: Hashable, Sendable {
    /// Where it began: the URL that the caller named.
    public let first: DownloadURL
    /// Where it leads now.
    public private(set) var current: DownloadURL
    /// Whether it has been at another origin than the first. It stays so: who redirects back may have chosen where to.
    public private(set) var hasLeftOrigin = false
    /// Whether it went from `https` to `http`.
    public private(set) var hasLostTLS = false

    /// A way that begins at `url`.
    public init(_ url: DownloadURL) {
        first = url
        current = url
    }

    /// Follows a redirection.
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
