internal import FoundationEssentials
internal import TransferProtocol

/// The HTTP proxies that a session goes through.
///
/// `http` requests are forwarded by the proxy, `https` requests go through a tunnel (CONNECT; RFC 9110, section 9.3.6), so that
/// the proxy sees the name of the server alone.
public struct TransferProxies: Hashable, Sendable {
    var settings = ProxySettings.none

    /// No proxy: servers are asked directly.
    public static let none = TransferProxies()

    private init() {}

    /// Sends all requests through one proxy.
    ///
    /// - Parameters:
    ///   - proxy: `http://[NAME[:PASSWORD]@]HOST[:PORT]`. No text of the value shows the password.
    ///   - exceptions: The hosts that are asked directly: names, which stand for those below them too, addresses, and `*`, separated by
    ///     commas, each with a port or without. At most 256.
    /// - Throws: A `TransferError` with the code `.invalidRequest`.
    public init(_ proxy: String, exceptions: String = "") throws {
        do throws(ProxyProblem) {
            let proxy = try ProxySettings.Proxy(proxy)
            settings = ProxySettings(http: proxy, https: proxy, exceptions: exceptions)
        } catch {
            throw TransferError.invalidRequest(error.description)
        }
    }

    /// The proxies of the environment: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read as curl does. This machine's
    /// own host is asked directly.
    ///
    /// - Throws: A `TransferError` with the code `.invalidRequest`.
    public static func fromEnvironment() throws -> TransferProxies {
        var proxies = TransferProxies()
        do throws(ProxyProblem) {
            proxies.settings = try ProxySettings(environment: ProcessInfo.processInfo.environment)
        } catch {
            throw TransferError.invalidRequest("in the environment, \(error.description)")
        }
        return proxies
    }
}
