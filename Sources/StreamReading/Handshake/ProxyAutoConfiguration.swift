/// The file that has a browser or a phone use the proxy: a function in JavaScript that gives the proxy of each URL.
enum ProxyAutoConfiguration {
    /// Whether `path` is a path of the file. Phones add a query, so that no cache has it.
    static func isPath(_ path: String) -> Bool { ["/proxy.pac", "/wpad.dat"].contains(path.prefix { $0 != "?" }) }

    /// The response with the file, which names the proxy by the address that the client has used. The connection ends after
    /// it.
    static func response(proxy: ProxyTarget, toHead isHead: Bool) -> [UInt8] {
        // Nothing goes past the proxy: without it the client has no network, as the profile wants it.
        let content = "function FindProxyForURL(url, host) {\n  return \"PROXY \(proxy)\";\n}\n"
        let fields = "Content-Type: application/x-ns-proxy-autoconfig\r\n"
        return AnswerText.last(200, fields, content, toHead: isHead)
    }
}
