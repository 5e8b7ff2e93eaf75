import HTTPTypes

/// The credentials of a transfer and the rules for sending them.
///
/// A user name with password, and fields added by the caller, are sent only to the origin of the URL (RFC 9110, section
/// 4.3.1: scheme, host and port), and no longer once a redirect has left it. `byHost` is asked for each host.
/// Credentials are never journalled or printed.
public struct RequestCredentials: Sendable, Redacted {
    /// The credentials for a host, which the caller named or a server redirected to.
    public typealias Lookup = @Sendable (_ host: String, _ isNamed: Bool) -> BasicCredentials?

    /// No credentials.
    public static let none = RequestCredentials()

    private let basic: BasicCredentials?
    private let fields: [RequestField]
    private let byHost: Lookup?

    /// Makes credentials from a user name with password, from fields (possibly `Authorization`), and by `byHost` for
    /// hosts that neither applies to.
    public init(basic: BasicCredentials? = nil, fields: [RequestField] = [], byHost: Lookup? = nil) {
        self.basic = basic
        self.fields = fields
        self.byHost = byHost
    }

    /// The additional fields of a request at the end of `redirects`.
    public func fields(for redirects: RedirectChain) -> [HTTPField] {
        let given = fields.filter { !redirects.hasLeftOrigin || $0.isSafeCrossOrigin }
        return given.map { HTTPField(name: $0.name, value: $0.value) }
            + (authorization(for: redirects).map { [$0] } ?? [])
    }

    /// Whether a request at the end of `redirects` carries credentials.
    public func use(for redirects: RedirectChain) -> CredentialUse {
        let isGiven = basic != nil || fields.contains { !$0.isSafeCrossOrigin }
        if authorization(for: redirects) != nil || isGiven && !redirects.hasLeftOrigin { return .sent }
        return isGiven ? .withheld : .none
    }

    private func authorization(for redirects: RedirectChain) -> HTTPField? {
        if !redirects.hasLeftOrigin {
            if fields.contains(where: \.isAuthorization) { return nil }
            if let basic { return HTTPField(name: .authorization, value: basic.fieldValue) }
        }
        guard !redirects.hasLostTLS else { return nil }
        let found = byHost?(redirects.current.host, !redirects.hasLeftOrigin)
        return found.map { HTTPField(name: .authorization, value: $0.fieldValue) }
    }
}

/// A value whose contents never appear in descriptions or dumps.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
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
public struct RedirectChain: Hashable, Sendable {
    /// The URL that the caller gave.
    public let first: TransferURL
    /// The current URL.
    public private(set) var current: TransferURL
    /// Whether the chain has left the first origin. Sticky: a foreign origin may have chosen the URL that it redirects
    /// back to.
    public private(set) var hasLeftOrigin = false
    /// Whether it went from `https` to `http`.
    public private(set) var hasLostTLS = false

    /// A chain that starts at `url`.
    public init(_ url: TransferURL) {
        first = url
        current = url
    }

    /// A chain that starts at `url` and is at `next`, which may be the same.
    public init(_ url: TransferURL, to next: TransferURL) {
        self.init(url)
        follow(next)
    }

    /// A chain of which only the ends are known: it counts as one that has left the origin.
    public init(_ url: TransferURL, throughUnknownTo last: TransferURL) {
        self.init(url, to: last)
        hasLeftOrigin = true
    }

    /// Follows a redirect.
    public mutating func follow(_ url: TransferURL) {
        if current.scheme == .https, url.scheme == .http { hasLostTLS = true }
        if !url.hasSameOrigin(as: first) { hasLeftOrigin = true }
        current = url
    }
}

extension TransferURL {
    /// Whether both have one origin: scheme, host and port (RFC 9110, section 4.3.1).
    public func hasSameOrigin(as other: TransferURL) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }
}
