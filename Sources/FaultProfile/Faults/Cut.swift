import Units

/// Ends the connection after an exact number of bytes or a time.
public struct Cut: Hashable, Sendable {
    /// Where the connection ends.
    public var position: Position
    package var how: Ending
    /// The base of the offsets; `connection` if there are none.
    public var base: OffsetBase

    /// Where a cut is made. Offsets are zero or more; zero ends the connection before its first byte.
    public enum Position: Hashable, Sendable {
        /// After this many bytes.
        case at(ByteCount)
        /// The first connection that is accepted while the fault is on is cut at the first offset, the second at the second,
        /// and so on; connections after the last, and those accepted while it is off, are left alone. Never empty.
        case inTurn([ByteCount])
        /// At the next multiple of this, which is above zero.
        case every(ByteCount)
        /// At an offset drawn for each connection, evenly, both ends included.
        case between(ByteCount, ByteCount)
        /// At this age of the connection, however busy it is. Above zero; both directions end.
        case after(Duration)
        /// When for this long no byte has passed in either direction. Above zero; both directions end.
        case idle(Duration)
        /// After the first match in the stream.
        case pattern(BytePattern)
        /// After this many bytes, zero or more, from where the fault began on the stream. Zero passes nothing, and acts
        /// when the first byte or the end comes.
        case limit(ByteCount)
        /// This time, zero or more, after the first byte or the end comes; it passes nothing from there on.
        case traffic(Duration)
    }

    /// How a cut connection ends.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        /// The receiver sees an orderly end (FIN).
        case close
        /// The same; where Squall speaks TLS with it, behind a close_notify (RFC 8446, section 6.1).
        case notify
        /// The receiver sees a reset (RST), after everything before the cut has reached it.
        case reset
        /// Blackholes both directions, without an end or a reset, until the peers give up.
        case silence
    }

    package init(position: Position, how: Ending, base: OffsetBase = .connection) {
        self.position = position
        self.how = how
        self.base = base
    }
}

extension Cut: FaultDefinition {
    static let word = "cut"
    static let summary = "The connection ends after an exact number of bytes, or after a time."
    static let example = #"{ "kind": "cut", "stream": "downstream", "at": "64 KiB", "how": "close" }"#
    static let table = ObjectTable(
        Cut(position: .at(.zero), how: .reset),
        texts: """
            at: after this many bytes; `"0 B"` is before the first. Of a list, each affected connection that is accepted \
            while the fault is on takes the next offset, and later ones none
            every: at the next multiple of this
            between: drawn for each connection or message, both ends included
            after: at this age of the connection, however busy it is
            idle: after this time without a byte in either direction
            pattern: after the first occurrence of these bytes
            limit: after this many bytes since the fault began on the connection, which is its start if the fault was on \
            then; `"0 B"` is when the first byte or the end comes
            traffic: this time after the first byte or the end comes; it and all after it are held until then
            how: an orderly end (FIN), the same behind a close_notify of [TLS](../https.md), a reset (RST) once everything \
            before the cut has arrived, or silence in both directions
            of: [what offsets count](#http-messages)
            """,
        oneOf: (positions, #""at": "64 KiB""#),
        rules: [
            ("if", .object([("oneOf", .array([.requires("after"), .requires("idle")]))])),
            ("then", .has(["stream": "both"])),
        ],
        [
            .one("at", \.position, offsets, { $0 }) { position in
                switch position {
                case .at, .inTurn: position
                case .every, .between, .after, .idle, .pattern, .limit, .traffic: nil
                }
            },
            .one("every", \.position, .positiveSize, Position.every) {
                if case .every(let step) = $0 { step } else { nil }
            },
            .one("between", \.position, .sizeRange, { .between($0.lowerBound, $0.upperBound) }) {
                if case .between(let low, let high) = $0 { low...high } else { nil }
            },
            .one("after", \.position, .positiveDuration, Position.after) {
                if case .after(let age) = $0 { age } else { nil }
            },
            .one("idle", \.position, .positiveDuration, Position.idle) {
                if case .idle(let time) = $0 { time } else { nil }
            },
            .one("pattern", \.position, .pattern, Position.pattern) {
                if case .pattern(let pattern) = $0 { pattern } else { nil }
            },
            .one("limit", \.position, .size, Position.limit) { if case .limit(let limit) = $0 { limit } else { nil } },
            .one("traffic", \.position, .duration, Position.traffic) {
                if case .traffic(let time) = $0 { time } else { nil }
            },
            .written("how", \.how, .choice, default: .reset),
            .base(\.base),
        ]
    )

    /// The keys of which a cut has exactly one.
    private static let positions = ["at", "every", "between", "after", "idle", "pattern", "limit", "traffic"]
    /// Those of them that count no bytes of a message.
    private static let uncounted: Set = ["after", "idle", "pattern", "limit", "traffic"]

    /// An offset, or a list of them.
    private static let offsets = Form<Position>(
        .cutOffsets,
        read: { node, key, decoder in
            guard case .array = node.value else { return Form.size.read(node, key, &decoder).map(Position.at) }
            let limit = ProfileLimits.cutOffsets
            guard let nodes = decoder.list(node, key: key, limit: limit, of: "offsets in this cut") else { return nil }
            guard !nodes.isEmpty else {
                decoder.report("the list of offsets is empty", remedy: "write “\"at\": \"64 KiB\"”", at: node.place)
                return nil
            }
            let offsets = nodes.compactMap {
                decoder.measure($0, key: key, example: "64 KiB", ByteCount.init(parsing:))
            }
            return offsets.count == nodes.count ? .inTurn(offsets) : nil
        },
        write: { position in
            switch position {
            case .at(let offset): .text(offset.text)
            case .inTurn(let offsets): .array(offsets.map { .text($0.text) })
            case .every, .between, .after, .idle, .pattern, .limit, .traffic:
                preconditionFailure("a position of another key")
            }
        }
    )

    var kind: FaultKind { .cut(self) }
    var pattern: BytePattern? { if case .pattern(let pattern) = position { pattern } else { nil } }
    var figures: FaultFigures {
        let position =
            switch position {
            case .at(let offset): "at \(offset.text)"
            case .inTurn(let offsets): "at \(offsets.count) offsets, a connection each"
            case .every(let step): "at every \(step.text)"
            case .between(let low, let high): "between \(low.text) and \(high.text)"
            case .after(let age): "at an age of \(age.text)"
            case .idle(let time): "when idle for \(time.text)"
            case .pattern(let pattern): "behind \(pattern.text)"
            case .limit(let limit): "after \(limit.text) more"
            case .traffic(let time): "\(time.text) after the first byte"
            }
        let ending = how == .silence ? ", in silence" : ""
        return FaultFigures(text: "cut \(position)\(base.words)\(ending)", isAtPosition: true)
    }
    var reasonAgainstMessages: String? {
        switch position {
        case .at, .inTurn, .every, .between: nil
        case .after, .idle: "time ends a connection, whatever passes"
        case .pattern: "its pattern is looked for in the whole stream"
        case .limit: "its limit counts every byte"
        case .traffic: "any byte starts its time"
        }
    }
    var isReplayedByPosition: Bool {
        switch position {
        case .at, .inTurn, .every, .between, .pattern, .limit: true
        case .after, .idle, .traffic: false
        }
    }
    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        switch position {
        case .after, .idle:
            context.checkBothStreams("a cut by time acts on the connection as a whole", &decoder)
        case .at, .inTurn, .every, .between, .pattern, .limit, .traffic: break
        }
        context.checkBase(base, of: Cut.positions, without: Cut.uncounted, &decoder)
    }

    func replayed(at event: ReplayedPosition) -> FaultKind? {
        // A limit of zero waits for the first byte.
        if case .limit = position { return .cut(Cut(position: .limit(event.at), how: how, base: base)) }
        return .cut(Cut(position: .at(event.at), how: how, base: event.base))
    }
}
