import Units

/// The base that offsets of a fault count from.
public enum OffsetBase: String, Hashable, Sendable, CaseIterable {
    /// The bytes that the link has passed on since the connection was accepted.
    case connection
    /// The bytes of each HTTP message of the direction, from the first of its head.
    case message
    /// The bytes of each HTTP message's content, as they are transferred but without the framing of chunks
    /// (RFC 9112, sections 6 and 7).
    case body
    /// The bytes of the thing that is transferred, across requests and connections: the content of an answer to a
    /// range begins where its `Content-Range` says, that of an upload where `Content-Range` or `Upload-Offset` does.
    case resource
    /// The encrypted bytes of a client that speaks TLS with the proxy, the handshake included. Elsewhere those of the
    /// connection.
    case wire

    /// Why a fault whose offsets count from `wire` can't be narrowed to HTTP messages.
    static let reasonAgainstMessages = "the bytes of the wire aren't read"

    /// Whether it is a part of HTTP messages.
    package var countsMessages: Bool {
        switch self {
        case .message, .body, .resource: true
        case .connection, .wire: false
        }
    }

    /// " of the body", after an offset.
    var words: String { self == .connection ? "" : " of the \(rawValue)" }
}

extension Field {
    /// The key `of`: the base of offsets.
    static func base(_ path: WritableKeyPath<Root, OffsetBase> & Sendable) -> Field {
        .optional("of", path, .choice, default: .connection)
    }
}
