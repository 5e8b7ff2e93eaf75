internal import FoundationEssentials
internal import TransferProtocol

/// The HTTP proxies of a session.
///
/// A proxy forwards `http` requests. `https` requests use a tunnel (CONNECT; RFC 9110, section 9.3.6), so the proxy
/// sees only the server's name.
public struct TransferProxies: Hashable, Sendable {
    var settings = ProxySettings.none

    /// No proxy.
    public static let none = TransferProxies()

    private init() {}

    /// Uses one proxy for all requests.
    ///
    /// - Parameters:
    ///   - proxy: `http://[NAME[:PASSWORD]@]HOST[:PORT]`. The password is never printed.
    ///   - exceptions: The hosts that bypass the proxy: domains including their subdomains, addresses, and `*`,
    ///   separated by commas, each optionally with a port. At most 256.
    /// - Throws: A `TransferError` with the code `.invalidRequest`.
    public init(_ proxy: String, exceptions: String = "") throws {
        do throws(ProxyProblem) {
            try self.init(checking: proxy, exceptions: exceptions)
        } catch {
            throw TransferError.invalidRequest(error.description)
        }
    }

    /// The proxies of the environment: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read as curl does.
    /// Loopback hosts bypass them. A transfer that needs a proxy with an unusable address, such as one of `socks5`, fails
    /// with the code `.invalidRequest`.
    public static func fromEnvironment() -> TransferProxies {
        var proxies = TransferProxies()
        proxies.settings = ProxySettings(environment: ProcessInfo.processInfo.environment)
        return proxies
    }
}
