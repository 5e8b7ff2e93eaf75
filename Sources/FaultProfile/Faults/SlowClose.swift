import Units

/// Delays the end of a stream (FIN or reset).
public struct SlowClose: Hashable, Sendable {
    /// The delay after the last byte. Above zero.
    public var delay: Duration

    package init(delay: Duration) {
        self.delay = delay
    }
}

extension SlowClose: FaultDefinition {
    static let word = "slow-close"
    static let summary = "The end of a stream, FIN or reset, comes later than its last byte."
    static let example = #"{ "kind": "slow-close", "stream": "downstream", "by": "5 s" }"#
    static let table = ObjectTable(
        SlowClose(delay: .zero),
        texts: "by: how much later",
        [.required("by", \.delay, .positiveDuration)]
    )

    var kind: FaultKind { .slowClose(self) }
    var figures: FaultFigures { FaultFigures(text: "slow-close by \(delay.text)", isAtPosition: true) }
    var reasonAgainstMessages: String? { "the end of a stream is behind all messages" }
}
