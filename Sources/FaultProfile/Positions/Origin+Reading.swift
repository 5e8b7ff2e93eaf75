import Units

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
