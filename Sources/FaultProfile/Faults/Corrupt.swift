import Units

/// Flips bits of the stream: one in each selected byte, drawn by the byte's offset unless given.
public struct Corrupt: Hashable, Sendable {
    /// The bytes to corrupt.
    public var position: Position
    /// The base of the offsets; `connection` for a rate.
    public var base: OffsetBase = .connection
    /// The bit to flip, from 0, the lowest, to 7; `nil` to draw it.
    public var bit: Int?

    /// Where bits are flipped.
    public enum Position: Hashable, Sendable {
        /// The byte after this many bytes.
        case at(ByteCount)
        /// In one byte at an offset drawn for each connection or message, evenly, both ends included.
        case between(ByteCount, ByteCount)
        /// In every byte with this chance, which is above zero.
        case rate(Probability)
    }
}

extension Corrupt: FaultDefinition {
    static let word = "corrupt"
    static let summary = "One bit is flipped in each byte that is hit."
    static let example = #"{ "kind": "corrupt", "stream": "downstream", "rate": "0.0001 %" }"#
    static let table = ObjectTable(
        Corrupt(position: .at(.zero)),
        texts: """
            at: in the byte after this many bytes
            between: in one byte, drawn for each connection, both ends included
            rate: in every byte with this chance
            of: [what offsets count](#http-messages)
            bit: which bit is flipped
            """,
        oneOf: (positions, #""at": "1 MiB""#),
        [
            .one("at", \.position, .offset, Position.at) { if case .at(let at) = $0 { at } else { nil } },
            .one("between", \.position, .sizeRange, { .between($0.lowerBound, $0.upperBound) }) {
                if case .between(let low, let high) = $0 { low...high } else { nil }
            },
            .one("rate", \.position, .chance.described("chance above 0 %"), Position.rate) {
                if case .rate(let rate) = $0 { rate } else { nil }
            },
            .base(\.base),
            .optional("bit", \.bit, .wholeNumber(.bit, in: 0...7), fallback: "drawn for each byte"),
        ]
    )

    /// The keys of which a corruption has exactly one.
    private static let positions = ["at", "between", "rate"]

    var kind: FaultKind { .corrupt(self) }
    var figures: FaultFigures {
        let position =
            switch position {
            case .at(let offset): "at \(offset.text)"
            case .between(let low, let high): "between \(low.text) and \(high.text)"
            case .rate(let rate): "\(rate.text) of the bytes"
            }
        return FaultFigures(text: "corrupt \(position)\(base.words)", isAtPosition: true)
    }
    var isReplayedByPosition: Bool {
        switch position {
        case .at, .between: true
        // Not all flips are in the journal; the seed reproduces them.
        case .rate: false
        }
    }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        context.checkBase(base, of: Corrupt.positions, without: ["rate"], &decoder)
        if position == .rate(.never) {
            decoder.report(
                "a rate of 0 % corrupts nothing",
                remedy: "write “0.001 %”, or delete the fault",
                at: context.object.place(of: "rate")
            )
        }
    }

    func replayed(at event: ReplayedPosition) -> FaultKind? {
        guard isReplayedByPosition else { return nil }
        // A fault of another name would draw another bit.
        return .corrupt(Corrupt(position: .at(event.at), base: event.base, bit: bit ?? event.drawnBit()))
    }
}
