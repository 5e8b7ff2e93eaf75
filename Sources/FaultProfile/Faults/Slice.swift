import Units

/// Writes bytes in slices with pauses between them.
public struct Slice: Hashable, Sendable {
    /// The mean size of a slice. Above zero.
    public var size: ByteCount
    /// The largest deviation from `size`, drawn for each slice. Below `size`.
    public var spread: ByteCount
    /// The pause between slices. Zero or more.
    public var pause: Duration

    /// Makes a slice; the rules are stated at the properties.
    public init(size: ByteCount, spread: ByteCount = .zero, pause: Duration = .zero) {
        self.size = size
        self.spread = spread
        self.pause = pause
    }
}

extension Slice: FaultDefinition {
    static let word = "slice"
    static let summary = "Bytes are handed over in writes of bounded size, with a pause between two."
    static let example = #"{ "kind": "slice", "size": "400 B", "spread": "300 B", "pause": "1 ms" }"#
    static let table = ObjectTable(
        Slice(size: .zero),
        texts: """
            size: bytes of a slice; no write has bytes of two
            spread: how far a slice may differ from `size`; drawn evenly
            pause: wait after the last byte of the previous slice
            """,
        [
            .required("size", \.size, .positiveSize),
            .optional("spread", \.spread, .size.described("size below `size`"), default: .zero),
            .optional("pause", \.pause, .duration, default: .zero),
        ]
    )

    var kind: FaultKind { .slice(self) }
    var figures: FaultFigures {
        FaultFigures(text: "slice \(size.text)" + (pause > .zero ? ", pause \(pause.text)" : ""))
    }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        guard spread >= size else { return }
        decoder.report(
            "the spread, \(spread.text), isn't below the size, \(size.text)",
            remedy: "write a smaller one, so that a slice has a byte at least",
            at: context.object["spread"]?.place ?? context.object.place
        )
    }
}
