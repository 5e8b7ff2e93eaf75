import EventLoop
import ProxyEngine
import QRCode

/// The line that has a shell's programs use a forward proxy.
package enum ForwardAnnouncement {
    /// What follows the ready line of a proxy on `address`; nothing for proxies without a policy.
    ///
    /// - Parameters:
    ///   - hasAuthority: whether the proxy serves the certificate of an authority.
    ///   - hasCode: whether a QR code of the URL for a phone may be among the lines.
    package static func lines(
        for address: SocketAddress,
        _ policy: ForwardPolicy?,
        hasAuthority: Bool = false,
        hasCode: Bool
    ) -> [String] {
        [line(for: address, policy)].compactMap(\.self)
            + invitation(for: address, policy, hasAuthority: hasAuthority, hasCode: hasCode)
    }

    /// "export HTTPS_PROXY=http://127.0.0.1:8888 http_proxy=http://127.0.0.1:8888"; `nil` for other proxies, and on a Unix
    /// socket, which those variables can't name.
    ///
    /// curl and others read `http_proxy` in lower case only, because a web server passes a field “Proxy” of its client as
    /// HTTP_PROXY to CGI programs.
    private static func line(for address: SocketAddress, _ policy: ForwardPolicy?) -> String? {
        guard let policy, address.unix == nil else { return nil }
        let credentials = policy.password == nil ? "" : "any:PASSWORD@"
        let url = "http://\(credentials)\(address.reachable)"
        return "export HTTPS_PROXY=\(url) http_proxy=\(url)"
    }

    /// The lines that lead a phone to a proxy that other machines reach: the URL of its configuration, and with `hasCode`
    /// its QR code; none for other proxies.
    private static func invitation(
        for address: SocketAddress,
        _ policy: ForwardPolicy?,
        hasAuthority: Bool,
        hasCode: Bool
    ) -> [String] {
        let reachable = address.reachable
        guard policy != nil, address.unix == nil, !reachable.isLoopback else { return [] }
        let url = "http://\(reachable)/proxy.pac"
        let trust = hasAuthority ? ["phone: open http://\(reachable)/authority.pem and trust that authority"] : []
        return ["phone: use \(url) as the automatic configuration of the proxy"] + trust
            + (hasCode ? QRCode(url)?.lines() ?? [] : [])
    }
}
