/// A protocol for HTTP messages, as a handshake of TLS agrees on one (RFC 7301). Without TLS it is HTTP/1.1.
public enum HTTPProtocol: String, Hashable, Sendable, CaseIterable {
    /// HTTP/1.1 (RFC 9112).
    case http1 = "http/1.1"
    /// HTTP/2 (RFC 9113).
    case http2 = "h2"

    /// What a side names that speaks HTTP/2 unless told otherwise, the preferred one first.
    static func names(offersHTTP2: Bool) -> [String] {
        (offersHTTP2 ? [.http2, .http1] : [HTTPProtocol.http1]).map(\.rawValue)
    }
}
