import Units

/// What the offsets of a fault are counted in.
public enum Origin: String, Hashable, Sendable, CaseIterable {
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

    static let words = allCases.map(\.rawValue)
}

extension Origin {
    /// `of`, with a problem where the position isn't one that can be counted in messages.
    ///
    /// - Parameter position: the key that gives the position, and whether it counts bytes.
    init(_ object: CheckedObject, position: (key: String, countsBytes: Bool)?, _ decoder: inout ProfileDecoder) {
        self = decoder.choice(object, "of", Origin.self) ?? .connection
        guard self != .connection, let position, !position.countsBytes else { return }
        decoder.report(
            "\(position.key.quoted) counts no bytes of a \(rawValue)",
            remedy: "delete “of”",
            at: object.place(of: "of")
        )
    }
}
