import EventLoop
import OperatingSystem
import ProxyEngine
import QRCode
import TerminalDisplay

/// The line that has a shell's programs use a forward proxy.
package enum ForwardAnnouncement {
    /// The columns that a QR code may have on standard output: none if it is no terminal, or can't show one.
    package static var codeColumns: Int {
        guard Console.isOutputTerminal, TerminalAbilities.ofProcess.hasUnicode else { return 0 }
        return Terminal.columnsOfStandardOutput() ?? TerminalAbilities.usualColumns
    }

    /// What follows the ready line of a proxy on `address`; nothing for proxies without a policy.
    ///
    /// - Parameters:
    ///   - hasAuthority: whether the proxy serves the certificate of an authority.
    ///   - columns: the columns of a terminal for a QR code of the URL for a phone. A wider code is left out.
    package static func lines(
        for address: SocketAddress,
        _ policy: ForwardPolicy?,
        hasAuthority: Bool = false,
        columns: Int
    ) -> [String] {
        [line(for: address, policy)].compactMap(\.self)
            + invitation(for: address, policy, hasAuthority: hasAuthority, columns: columns)
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

    /// The lines that lead a phone to a proxy that other machines reach: the URL of its configuration, and its QR code
    /// if `columns` are enough for it; none for other proxies.
    private static func invitation(
        for address: SocketAddress,
        _ policy: ForwardPolicy?,
        hasAuthority: Bool,
        columns: Int
    ) -> [String] {
        let reachable = address.reachable
        guard policy != nil, address.unix == nil, !reachable.isLoopback else { return [] }
        let url = "http://\(reachable)/proxy.pac"
        let trust = hasAuthority ? ["phone: open http://\(reachable)/authority.pem and trust that authority"] : []
        // A line that the terminal breaks is no line of a code.
        let code = QRCode(url)?.lines().filter { $0.count <= columns } ?? []
        return ["phone: use \(url) as the automatic configuration of the proxy"] + trust + code
    }
}
