import Units

/// Receives the bytes of a stream and drops them.
public struct Discard: Hashable, Sendable {
    /// The connection is closed once no byte has come for this long. Above zero; `nil` is never.
    public var closeAfter: Duration?

    package init(closeAfter: Duration? = nil) {
        self.closeAfter = closeAfter
    }
}

extension Discard: FaultDefinition {
    static let word = "discard"
    static let summary = "Bytes are received and dropped; a connection that has lost some doesn't outlive the fault."
    static let example = #"{ "kind": "discard", "stream": "downstream", "close-after": "5 s" }"#
    static let table = ObjectTable(
        Discard(),
        texts: """
            close-after: without a byte for this long, counted from where the fault begins on the connection, the \
            connection is closed (FIN in both directions)
            """,
        [.optional("close-after", \.closeAfter, .positiveDuration, fallback: "never")]
    )

    var kind: FaultKind { .discard(self) }
    var figures: FaultFigures {
        FaultFigures(text: closeAfter.map { "discard, closed after \($0.text)" } ?? "discard")
    }
    var reasonAgainstMessages: String? { "a connection that has lost bytes can't go on" }
}
