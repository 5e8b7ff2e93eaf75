/// An HTTP version as negotiated by ALPN (RFC 7301). Without TLS it is HTTP/1.1.
public enum HTTPProtocol: String, Hashable, Sendable, CaseIterable {
    /// HTTP/1.1 (RFC 9112).
    case http1 = "http/1.1"
    /// HTTP/2 (RFC 9113).
    case http2 = "h2"

    /// The ALPN names to offer, in order of preference.
    public static func names(offersHTTP2: Bool) -> [String] {
        (offersHTTP2 ? [.http2, .http1] : [HTTPProtocol.http1]).map(\.rawValue)
    }
}
