import Units

/// Removes bytes from the stream, as a broken middlebox does.
public struct Truncate: Hashable, Sendable {
    /// The offset of the removed bytes; bytes removed before don't count.
    public var at: ByteCount
    package var base: OffsetBase = .connection
    /// The number of removed bytes. Above zero.
    public var bytes: ByteCount
}

extension Truncate: FaultDefinition {
    static let word = "truncate"
    static let summary = "Bytes vanish from the stream, and the rest goes on."
    static let example = #"{ "kind": "truncate", "stream": "downstream", "at": "64 KiB", "bytes": "100 B" }"#
    static let table = ObjectTable(
        Truncate(at: .zero, bytes: .zero),
        texts: """
            at: bytes that pass first, counted as in a cut
            bytes: bytes after them that vanish
            of: [what `at` counts](#http-messages)
            """,
        [.written("at", \.at, .offset, default: .zero), .required("bytes", \.bytes, .positiveSize), .base(\.base)]
    )

    var kind: FaultKind { .truncate(self) }
    var figures: FaultFigures {
        FaultFigures(text: "truncate \(bytes.text) at \(at.text)\(base.words)", isAtPosition: true)
    }
    var isReplayedByPosition: Bool { true }
    var endsWithMessage: Bool { true }

    func replayed(at event: ReplayedPosition) -> FaultKind? {
        .truncate(Truncate(at: event.at, base: event.base, bytes: bytes))
    }
}
