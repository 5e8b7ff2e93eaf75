import Units

/// Blackholes one direction of a connection for good, including its end.
public struct HalfOpen: Hashable, Sendable {
    /// Where the direction is blackholed.
    public var point: Point

    /// Where a direction is blackholed.
    public enum Point: Hashable, Sendable {
        /// After this many bytes, zero or more, counted as in `Cut`.
        case at(ByteCount)
        /// At this age of the connection. Above zero.
        case after(Duration)
    }
}

extension HalfOpen: FaultDefinition {
    static let word = "half-open"
    static let summary = "One direction goes silent for good, its end included, while the other goes on."
    static let example =
        #"{ "kind": "half-open", "stream": "downstream", "at": "1 MiB", "when": { "chance": "10 %" } }"#
    static let streams: [StreamSelection] = [.upstream, .downstream]
    static let table = ObjectTable(
        HalfOpen(point: .at(.zero)),
        texts: """
            at: after this many bytes, counted as in a cut
            after: at this age of the connection
            """,
        oneOf: (["at", "after"], #""at": "64 KiB""#),
        [
            .one("at", \.point, .offset, Point.at) { if case .at(let offset) = $0 { offset } else { nil } },
            .one("after", \.point, .positiveDuration, Point.after) {
                if case .after(let age) = $0 { age } else { nil }
            },
        ]
    )

    var kind: FaultKind { .halfOpen(self) }
    var figures: FaultFigures {
        switch point {
        case .at(let offset): FaultFigures(text: "half-open at \(offset.text)", isAtPosition: true)
        case .after(let age): FaultFigures(text: "half-open at an age of \(age.text)", isAtPosition: true)
        }
    }
    var reasonAgainstMessages: String? { "it is silent for good, whatever comes" }
    var isReplayedByPosition: Bool {
        switch point {
        case .at: true
        case .after: false
        }
    }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        guard let node = context.object["stream"], case .text("both") = node.value else { return }
        decoder.report(
            "a half-open connection is silent in one direction only",
            remedy: "write “upstream” or “downstream”, or use a “cut” with “\"how\": \"silence\"”",
            at: node.place
        )
    }

    func replayed(at event: ReplayedPosition) -> FaultKind? { .halfOpen(HalfOpen(point: .at(event.at))) }
}
