import Units

/// Holds the byte at an offset for a time.
public struct Stall: Hashable, Sendable {
    /// The bytes that pass first.
    public var at: ByteCount
    package var base: OffsetBase = .connection
    /// How long the next byte waits, from when it could pass. Above zero.
    public var duration: Duration
}

extension Stall: FaultDefinition {
    static let word = "stall"
    static let summary = "Bytes up to an offset pass; the next one waits, then everything goes on."
    static let example = #"{ "kind": "stall", "stream": "downstream", "at": "1 MiB", "for": "2 s" }"#
    static let table = ObjectTable(
        Stall(at: .zero, duration: .zero),
        texts: """
            at: bytes that pass first, counted as in a cut
            for: how long the next byte waits
            of: [what `at` counts](#http-messages); in messages, each has its stall
            """,
        [
            .written("at", \.at, .offset, default: .zero), .required("for", \.duration, .positiveDuration),
            .base(\.base),
        ]
    )

    var kind: FaultKind { .stall(self) }
    var figures: FaultFigures {
        FaultFigures(text: "stall of \(duration.text) at \(at.text)\(base.words)", isAtPosition: true)
    }
    var isReplayedByPosition: Bool { true }

    func replayed(at event: ReplayedPosition) -> FaultKind? {
        .stall(Stall(at: event.at, base: event.base, duration: min(duration, event.longestInterval)))
    }
}
